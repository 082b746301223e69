// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/split_groups.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/packing.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/transform_block_layout.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {
namespace {

/// An axis of which an operand reads the number of a group alone.
struct GroupedAxis {
  Axis axis;
  std::int64_t size = 0;  ///< Of a group.
};

std::optional<GroupedAxis> grouped_axis_of(const Nest& nest) {
  if (nest.reduction().empty() || !point_count(nest.axes)) return std::nullopt;
  std::optional<GroupedAxis> found;
  bool is_one = true;
  for (const NestAccess& access : accesses_in(nest)) {
    for (const Expr& index : access.indices) {
      pre_order_visit(index, [&](const Ref& ref) {
        const auto* quotient = ref.as<FloorDiv>();
        const std::int64_t* size = quotient ? as_int(quotient->b) : nullptr;
        if (!size) return true;
        for (const Axis& axis : nest.spatial()) {
          if (!quotient->a.same_as(axis.var) || !is_const_int(axis.min, 0)) continue;
          is_one =
              is_one && (!found || (found->axis.var.same_as(axis.var) && found->size == *size));
          found = GroupedAxis{axis, *size};
        }
        return true;
      });
    }
  }
  const auto extent = found ? constant_extent(found->axis) : std::nullopt;
  const bool has_groups =
      extent && is_one && found->size > 1 && found->size < *extent && *extent % found->size == 0;
  return has_groups ? found : std::nullopt;
}

/// From `count` indices to those in which number `grouped` is two: of the group, and in it.
Ptr<IndexMap> grouping_map(const std::vector<DataType>& types, std::size_t grouped,
                           std::int64_t size) {
  IndexMap map;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Ptr<Var> index = var(fmt::format("i{}", i), types[i]);
    map.initial_indices.push_back(index);
    if (i == grouped) {
      map.final_indices.push_back(floordiv(index, int_imm(types[i], size)));
      map.final_indices.push_back(floormod(index, int_imm(types[i], size)));
    } else {
      map.final_indices.push_back(index);
    }
  }
  return make(std::move(map));
}

/// Takes the steps; false where the result has another form than expected.
bool take_groups(Schedule& schedule, const Nest& nest, const GroupedAxis& groups) {
  const auto results = written_buffers(nest);
  if (results.size() != 1) return false;
  std::optional<std::size_t> dimension;
  for (const NestAccess& access : accesses_in(nest)) {
    if (!access.is_store) continue;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      if (access.indices[d].same_as(groups.axis.var)) dimension = d;
    }
  }
  if (!dimension) return false;
  const BlockRV block = look_up(schedule, nest.block);
  cache_write(schedule, block, 0, "global");
  std::vector<DataType> indices, axes;
  for (const Expr& extent : results[0]->shape) indices.push_back(extent.dtype());
  std::optional<std::size_t> number;
  for (const Ptr<IterVar>& axis : schedule.get(block).iter_vars) {
    if (axis->var.same_as(groups.axis.var)) number = axes.size();
    axes.push_back(axis->var->dtype);
  }
  if (!number) return false;
  transform_layout(schedule, block, BufferSelector(0),
                   grouping_map(indices, *dimension, groups.size));
  transform_block_layout(schedule, block, grouping_map(axes, *number, groups.size));
  return true;
}

bool is_packed_now(const Schedule& schedule, BlockRV block, const CpuModel& machine) {
  for (const Subject& subject : subjects_of(schedule, machine)) {
    for (const Nest& nest : subject.nests) {
      if (nest.block.index != block.index) continue;
      const auto packing = packing_of(nest, machine);
      return packing && is_const_int(packing->pays(), 1);
    }
  }
  return false;
}

}  // namespace

bool split_groups(Schedule& schedule, const std::vector<Subject>& subjects,
                  const CpuModel& machine) {
  const std::size_t before = schedule.steps().size();
  for (const Subject& subject : subjects) {
    if (subject.nests.size() != 1) continue;
    const Nest& nest = subject.nests[0];
    const auto groups = grouped_axis_of(nest);
    if (!groups || is_packed(nest, machine)) continue;
    const std::size_t whole = schedule.steps().size();
    bool is_done = false;
    try {
      is_done =
          take_groups(schedule, nest, *groups) && is_packed_now(schedule, nest.block, machine);
    } catch (const ScheduleError&) {  // Its steps are taken back.
    }
    if (!is_done) schedule.undo(schedule.steps().size() - whole);
  }
  return schedule.steps().size() > before;
}

}  // namespace loopsmith
