// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_row_groups.h"

#include <algorithm>

#include "loopsmith/rules/fuse_row_nests.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/nontemporal_stores.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// True for a nest that runs in lanes inside of its first `shared` loops, or has no others.
bool is_row_of_vectors(const Nest& nest, std::size_t shared, std::int64_t lanes) {
  if (lanes <= 1) return false;
  if (!nest.reduction().empty()) {
    return point_count(drop(nest.spatial(), shared)) == 1 && row_reduction_of(nest);
  }
  if (nest.axes.size() == shared) return true;
  const Axis& along = nest.axes.back();
  return std::ranges::none_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, along.var) == Stride::other;
  });
}

/// The loops of each nest; nothing where the first of them are not those over the shared axes.
std::optional<std::vector<std::vector<NestLoop>>> loops_of(Schedule& schedule,
                                                           const Subject& subject) {
  std::vector<std::vector<NestLoop>> all;
  for (const Nest& nest : subject.nests) {
    const auto reduction = row_reduction_of(nest);
    auto loops = reduction ? loops_with_row_innermost(schedule, nest, reduction->axis)
                           : look_up_loops(schedule, nest);
    if (!loops || loops->size() != nest.axes.size()) return {};
    for (std::size_t k = 0; k < subject.shared; ++k) {
      if (!(*loops)[k].axis.var.same_as(nest.axes[k].var)) return {};
    }
    all.push_back(*std::move(loops));
  }
  return all;
}

}  // namespace

bool schedule_row_groups(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const auto& [nests, shared, blocks, loop] = subject;
  const CpuModel& machine = context.machine;
  const auto lanes = [&](const Nest& nest) { return lanes_of(nest, machine); };
  if (nests.size() < 2 || shared == 0) return false;
  for (const Nest& nest : nests) {
    if (!is_row_of_vectors(nest, shared, lanes(nest))) return false;
  }
  const auto found = loops_of(schedule, subject);
  if (!found) return false;

  std::vector<LoopRV> rows;
  std::vector<LaneReduction> reductions;
  std::vector<LoopRV> in_lanes;
  std::vector<std::pair<std::size_t, LoopRV>> in_vectors;  // Loops over vectors, of nests.
  std::optional<LoopRV> producer;  // The loop over vectors of the nest before, if it is one.
  for (std::size_t i = 0; i < nests.size(); ++i) {
    const std::vector<NestLoop>& loops = (*found)[i];
    const Nest& nest = nests[i];
    const auto extent = constant_extent(loops.back().axis);
    if (!nest.reduction().empty()) {
      LaneShape shape = lane_shape(extent, lanes(nest));
      if (producer) shape.chains = 1;
      reductions.push_back(reduce_in_lanes(schedule, nest.block, shape, producer));
      const LoopRV row = get_loops(schedule, reductions.back().partial)[shared - 1];
      if (producer) rows.pop_back();
      rows.insert(rows.end(), {row, get_loops(schedule, nest.block)[shared - 1]});
      producer.reset();
      continue;
    }
    rows.push_back(loops[shared - 1].loop);
    if (loops.size() == shared || extent == 1) continue;
    const LoopRV inner = loops.back().loop;
    const bool is_fed = i + 1 < nests.size() && is_fed_by(nest, nests[i + 1], shared, machine);
    if (!is_fed && extent && *extent <= lanes(nest)) {
      in_lanes.push_back(inner);
      continue;
    }
    const Factor width =
        is_fed ? Factor(lanes(nest))
               : context.number(schedule, lanes(nest), {lanes(nest) / 2, lanes(nest) * 2});
    const auto [vectors, lane] = split(schedule, inner, {infer, width}).take<2>();
    in_lanes.push_back(lane);
    in_vectors.emplace_back(i, vectors);
    if (is_fed) producer = vectors;
  }
  merge(schedule, rows);
  for (const LaneReduction& each : reductions) vectorize_lanes(schedule, each);
  for (const LoopRV lane : in_lanes) vectorize(schedule, lane);
  for (const auto& [number, vectors] : in_vectors) {
    stream(schedule, nests[number], vectors, machine);
  }
  if (!context.has_threads()) return true;
  std::vector<NestLoop> around = found->front();
  around.resize(shared);
  const Handles<LoopRV> merged = get_loops(schedule, nests[0].block);
  for (std::size_t k = 0; k < shared; ++k) around[k].loop = merged[k];
  parallelize(schedule, around, context);
  return true;
}

}  // namespace loopsmith
