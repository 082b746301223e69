// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_elementwise.h"

#include <algorithm>
#include <span>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/task_sizes.h"
#include "loopsmith/rules/walks.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// Not yet taken by steps: vectors that start at lines of the cache, tiles, peeled borders.
bool is_for_make_loops(const Nest& nest, std::int64_t lanes) {
  const auto across = [&](const Axis& axis) {
    return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
      return stride_along(access, axis.var) == Stride::other;
    });
  };
  const std::optional<Axis> along = contiguous_axis(nest);
  return !nest.streamed.empty() || (along && across(*along)) ||
         peel_boundaries(nest, nest.spatial(), lanes);
}

/// How many elements of a long loop are a task. The last task has a whole vector to do, or there is
/// none.
std::int64_t task_of(std::optional<std::int64_t> extent, std::int64_t lanes) {
  std::int64_t size = extent && *extent >= many_elements ? elements_a_long_task : elements_a_task;
  while (extent && *extent > size && *extent % size != 0 && *extent % size < lanes) size += lanes;
  return size;
}

/// One loop over all points, cut into tasks.
void schedule_long_loop(Schedule& schedule, const NestLoop& all, std::int64_t lanes,
                        bool has_threads, const RuleContext& context) {
  const auto extent = constant_extent(all.axis);
  LoopRV loop = all.loop;
  std::optional<std::int64_t> inner = extent;
  const std::int64_t size = task_of(extent, lanes);
  if (has_threads && !(extent && *extent <= size)) {
    const Factor task = context.number(schedule, size, {size / 4, size * 4});
    const auto [tasks, part] = split(schedule, loop, {infer, task}).take<2>();
    parallel(schedule, tasks);
    loop = part;
    inner = size;
  }
  vectorize_by(schedule, loop, inner, lanes, context);
}

}  // namespace

bool schedule_elementwise(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1 || !subject.nests[0].reduction().empty()) return false;
  const Nest& nest = subject.nests[0];
  const std::int64_t lanes = lanes_of(nest, context.machine);
  if (is_for_make_loops(nest, lanes)) return false;
  auto found = look_up_loops(schedule, nest);
  if (!found || found->empty()) return false;
  std::vector<NestLoop>& loops = *found;

  const std::optional<Axis> along = contiguous_axis(nest);
  if (along) {
    const auto inner = std::ranges::find_if(
        loops, [&](const NestLoop& each) { return each.axis.var.same_as(along->var); });
    if (inner + 1 != loops.end()) {
      std::rotate(inner, inner + 1, loops.end());
      std::vector<LoopRV> order;
      for (const NestLoop& each : loops) order.push_back(each.loop);
      reorder(schedule, order);
    }
    const std::size_t first = first_of_walk(nest, loops);
    const std::int64_t cells = constant_extent(loops.back().axis).value_or(0);
    const bool is_short = first < loops.size() && cells < 2 * lanes;
    if (first == 0 || is_short) {
      const auto walked = std::span<const NestLoop>(loops).subspan(first);
      // The quotients and remainders of a number of points that is a variable stay in indices.
      const bool is_known = point_count(nest.axes).has_value();
      if (is_short && !is_known) return false;
      if (is_known && may_fuse(schedule, walked)) {
        const LoopRV fused = fuse_all(schedule, walked);
        const For& over = schedule.get(fused);
        loops.resize(first + 1);
        loops[first] = {fused, {over.loop_var, over.min, over.extent}};
      }
    }
  }
  const bool has_threads = is_worth_threads(subject.nests);
  if (loops.size() == 1 && along) {
    schedule_long_loop(schedule, loops[0], lanes, has_threads, context);
    return true;
  }
  const NestLoop inner = loops.back();
  if (along) loops.pop_back();
  if (has_threads) parallelize(schedule, loops, context);
  if (along) vectorize_by(schedule, inner.loop, constant_extent(inner.axis), lanes, context);
  return true;
}

}  // namespace loopsmith
