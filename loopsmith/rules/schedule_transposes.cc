// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_transposes.h"

#include <algorithm>
#include <bit>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// What processors fetch together: a pair of lines of the cache.
constexpr std::int64_t fetched_bytes = 128;
/// Of fewer rows, a transpose takes as long as the loads one by one.
constexpr std::int64_t min_lanes = 4;
/// Fewer whole squares take less time than it takes to find out which are whole.
constexpr std::int64_t min_squares = 4;
/// Rows that lowering interleaves by shuffles (transpose_in_registers.h).
constexpr std::int64_t max_interleaved_rows = 7;
/// What no square covers is loaded one by one, under masks: that is slower than without.
constexpr double min_covered = 0.85;

/// The axis along which loads that cross memory in lanes are contiguous.
std::optional<Axis> loaded_axis(const Nest& nest, const Axis& stored) {
  for (const NestAccess& access : accesses_in(nest)) {
    if (access.is_store || stride_along(access, stored.var) != Stride::other) continue;
    for (const Axis& axis : nest.spatial()) {
      const bool is_other = !axis.var.same_as(stored.var);
      if (is_other && stride_along(access, axis.var) == Stride::one) return axis;
    }
  }
  return std::nullopt;
}

/// The size of the smallest element of the nest.
std::int64_t element_bytes(const Nest& nest) {
  std::int64_t bytes = fetched_bytes;
  for (const NestAccess& access : accesses_in(nest)) {
    bytes = std::min<std::int64_t>(bytes, (access.buffer->dtype.bits + 7) / 8);
  }
  return bytes;
}

/// True when a value is computed from the axis itself, not from what it indexes.
bool computes_with(const Nest& nest, const Axis& axis) {
  bool found = false;
  pre_order_visit(nest.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (store) {
      pre_order_visit(store->value, [&](const Ref& part) {
        found = found || part.same_as(axis.var);
        return !found && !part.is<BufferLoad>();
      });
    }
    return !found && !store;
  });
  return found;
}

/// True when each access goes on with the next `outer` where it ends with the last `inner`: both
/// are indices of neighbouring dimensions, and the inner one is all of its dimension.
bool follow_each_other(const Nest& nest, const Axis& outer, const Axis& inner) {
  const auto follows = [&](const NestAccess& access) {
    const Buffer& buffer = *access.buffer;
    const auto uses = [](const Expr& index, const Axis& axis) {
      return uses_variable(index, axis.var);
    };
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      if (access.indices[d].same_as(inner.var)) continue;
      if (uses(access.indices[d], inner)) return false;
      if (!uses(access.indices[d], outer)) continue;
      const bool is_pair = access.indices[d].same_as(outer.var) && d + 1 < access.indices.size() &&
                           access.indices[d + 1].same_as(inner.var) &&
                           structural_equal(buffer.shape[d + 1], inner.extent);
      if (!is_pair) return false;
    }
    const bool has_inner = std::ranges::any_of(
        access.indices, [&](const Expr& index) { return index.same_as(inner.var); });
    const bool has_outer = std::ranges::any_of(
        access.indices, [&](const Expr& index) { return index.same_as(outer.var); });
    return has_inner == has_outer && buffer.strides.empty() && buffer.axis_separators.empty();
  };
  return outer.var && constant_extent(outer) && constant_extent(inner) &&
         is_const_int(inner.min, 0) && is_const_int(outer.min, 0) && !computes_with(nest, outer) &&
         !computes_with(nest, inner) && std::ranges::all_of(accesses_in(nest), follows);
}

/// Takes the loop over an axis out of `loops`, and those whose axes it continues.
std::vector<NestLoop> taken_run(const Nest& nest, std::vector<NestLoop>& loops, const Axis& axis) {
  std::vector<NestLoop> run;
  const auto take = [&](auto is_wanted) {
    const auto found = std::ranges::find_if(loops, is_wanted);
    if (found == loops.end()) return false;
    run.insert(run.begin(), *found);
    loops.erase(found);
    return true;
  };
  take([&](const NestLoop& each) { return each.axis.var.same_as(axis.var); });
  const auto goes_on = [&](const NestLoop& each) {
    return !run.empty() && follow_each_other(nest, each.axis, run.front().axis);
  };
  while (take(goes_on)) continue;
  return run;
}

NestLoop fused_run(Schedule& schedule, const std::vector<NestLoop>& run) {
  return run.size() == 1 ? run[0] : with_axis(schedule, fuse_all(schedule, run));
}

std::int64_t extent_or(const Axis& axis, std::int64_t default_value) {
  return constant_extent(axis).value_or(default_value);
}

/// True when the nest copies a few rows into neighbours: one element of each, then the next ones.
bool interleaves_rows(const Nest& nest, const Axis& stored, const Axis& loaded) {
  const auto* copy = nest.body.as<BufferStore>();
  if (!copy || !copy->value.is<BufferLoad>() || copy->indices.size() < 2) return false;
  const std::int64_t rows = extent_or(stored, 0);
  const std::size_t last = copy->indices.size() - 1;
  return rows > 1 && rows <= max_interleaved_rows && is_const_int(stored.min, 0) &&
         copy->buffer->strides.empty() &&
         structural_equal(copy->buffer->shape[last], stored.extent) &&
         copy->indices[last].same_as(stored.var) && copy->indices[last - 1].same_as(loaded.var);
}

}  // namespace

std::optional<std::int64_t> transposed_lanes(const Nest& nest, const Axis& stored,
                                             const Axis& loaded, const CpuModel& machine) {
  const std::int64_t whole =
      std::min<std::int64_t>(lanes_of(nest, machine), machine.vector_registers);
  const std::int64_t rows = extent_or(stored, min_squares * whole);
  const std::int64_t columns = extent_or(loaded, min_squares * whole);
  const auto most = static_cast<std::uint64_t>(std::min({whole, rows, columns}));
  const auto lanes = static_cast<std::int64_t>(std::bit_floor(most));
  if (lanes < min_lanes || (rows / lanes) * (columns / lanes) < min_squares) return std::nullopt;
  const auto covered = [](std::int64_t extent) { return extent / min_lanes * min_lanes; };
  const double share = static_cast<double>(covered(rows)) / static_cast<double>(rows) *
                       static_cast<double>(covered(columns)) / static_cast<double>(columns);
  return share < min_covered ? std::nullopt : std::optional(lanes);
}

bool schedule_transposes(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const std::optional<Axis> along = contiguous_axis(nest);
  const auto across = along && !nest.init ? loaded_axis(nest, *along) : std::nullopt;
  if (!across || !nest.reduction().empty() || point_count(nest.axes) == 0 ||
      peel_boundaries(nest, lanes_of(nest, context.machine))) {
    return false;
  }
  auto found = look_up_loops(schedule, nest);
  if (!found) return false;
  std::vector<NestLoop>& tasks = *found;
  const std::vector<NestLoop> stored_run = taken_run(nest, tasks, *along);
  const std::vector<NestLoop> loaded_run = taken_run(nest, tasks, *across);
  if (stored_run.empty() || loaded_run.empty() || !fits_type(schedule, stored_run) ||
      !fits_type(schedule, loaded_run)) {
    return false;
  }
  std::vector<LoopRV> order;
  for (const auto& part : {tasks, loaded_run, stored_run}) {
    for (const NestLoop& each : part) order.push_back(each.loop);
  }
  reorder(schedule, order);
  const NestLoop loaded = fused_run(schedule, loaded_run);
  const NestLoop stored = fused_run(schedule, stored_run);
  const auto lanes = transposed_lanes(nest, stored.axis, loaded.axis, context.machine);
  const bool has_threads = context.has_threads();
  if (!lanes) {
    if (!interleaves_rows(nest, *along, *across)) return false;
    const auto [piece, column] =
        split(schedule, loaded.loop, {infer, lanes_of(nest, context.machine)}).take<2>();
    if (has_threads) {
      tasks.push_back(with_axis(schedule, piece));
      parallelize(schedule, tasks, context);
    }
    vectorize(schedule, column);
    vectorize(schedule, stored.loop);
    return true;
  }

  const std::int64_t fetched =
      std::max<std::int64_t>(fetched_bytes / element_bytes(nest) / *lanes, 1);
  const std::int64_t all = extent_or(loaded.axis, *lanes * fetched);
  const std::int64_t count = std::min(fetched, (all + *lanes - 1) / *lanes);
  const auto [piece, tile, column] =
      split(schedule, loaded.loop, {infer, context.number(schedule, count, {1, count * 2}), *lanes})
          .take<3>();
  const auto [block, row] = split(schedule, stored.loop, {infer, *lanes}).take<2>();
  reorder(schedule, {piece, block, tile, column, row});
  if (has_threads) {
    tasks.push_back(with_axis(schedule, piece));
    tasks.push_back(with_axis(schedule, block));
    parallelize(schedule, tasks, context);
  }
  vectorize(schedule, column);
  vectorize(schedule, row);
  return true;
}

}  // namespace loopsmith
