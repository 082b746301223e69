// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reorder.h"

#include <algorithm>

#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

std::size_t nesting_of(const Schedule& schedule, NodeId node) {
  std::size_t depth = 0;
  for (; node != no_node; node = schedule.at(node).parent) ++depth;
  return depth;
}

}  // namespace

Planned<ReorderPlan> plan_reorder(const Schedule& schedule, const ReorderArguments& arguments) {
  const auto& loops = arguments.loops;
  if (loops.size() < 2) return ReorderPlan{};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (loops[i].index == loops[k].index)
        return Refusal{&loops_are_different, {Argument(loops[i])}};
    }
  }
  // The innermost loop, and what is around it up to the outermost.
  LoopRV top = loops[0], bottom = loops[0];
  std::size_t top_depth = SIZE_MAX, bottom_depth = 0;
  for (const LoopRV loop : loops) {
    const std::size_t depth = nesting_of(schedule, schedule.node(loop));
    if (depth < top_depth) top_depth = depth, top = loop;
    if (depth > bottom_depth) bottom_depth = depth, bottom = loop;
  }
  ReorderPlan plan{.named = loops, .assume_independent = arguments.assume_independent};
  std::size_t found = 0;
  const NodeId last = schedule.node(top);
  for (NodeId node = schedule.node(bottom);; node = schedule.at(node).parent) {
    if (node == no_node || schedule.as<BlockRealize>(node)) break;
    if (schedule.as<For>(node)) {
      const LoopRV loop = schedule.loop_at(node);
      plan.band.push_back(loop);
      found += std::ranges::any_of(loops, [&](LoopRV l) { return l.index == loop.index; });
    }
    if (node == last) break;
  }
  std::ranges::reverse(plan.band);
  if (found < loops.size()) {
    const auto is_missing = [&](LoopRV loop) {
      return std::ranges::none_of(plan.band, [&](LoopRV l) { return l.index == loop.index; });
    };
    const LoopRV missing = *std::ranges::find_if(loops, is_missing);
    return Refusal{&loop_is_around_loop, {Argument(missing), Argument(bottom)}};
  }
  // Those that are named take each other's places.
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan.band.size(); ++i) {
    const auto place = [&](LoopRV loop) {
      return static_cast<std::size_t>(std::ranges::find(plan.band, loop.index, &LoopRV::index) -
                                      plan.band.begin());
    };
    const bool is_named =
        std::ranges::any_of(loops, [&](LoopRV loop) { return loop.index == plan.band[i].index; });
    plan.order.push_back(is_named ? place(loops[next++]) : i);
  }
  NestObstacle why;
  auto shape = shape_for(schedule, plan.band, plan.order, why);
  if (!shape) {
    const Argument loop(plan.band[why.loop]), inner(plan.band[why.inner]);
    if (why.loop == why.inner) return Refusal{&nest_is_perfect, {loop}};
    return Refusal{&outer_bounds_are_outer, {loop, inner}};
  }
  if (auto refusal = refuse_early_bounds(schedule, plan.band, plan.order)) {
    return *std::move(refusal);
  }
  plan.shape = *std::move(shape);
  return plan;
}

Nothing commit_reorder(Schedule& schedule, ReorderPlan&& plan) {
  if (plan.band.empty()) return {};
  std::vector<For> loops;
  loops.reserve(plan.band.size());
  for (const std::size_t place : plan.order) {
    For copy = schedule.get(plan.band[place]);
    copy.span = schedule.span_from(copy.span);
    copy.body = nullptr;
    if (const auto& bounds = plan.shape.bounds[place]) {
      copy.min = bounds->min;
      copy.extent = bounds->extent;
    }
    loops.push_back(std::move(copy));
  }
  if (!plan.shape.is_as_it_is()) {
    if (plan.shape.guard.defined()) plan.shape.guard = narrow_by(plan.shape.guard, loops);
    take_shape(schedule, plan.band, plan.shape);
  }
  DependenceUpdate known(schedule, schedule.node(plan.band.front()));
  known.reorder(loops);
  schedule.replace_loops(plan.band.front(), plan.band.back(), std::move(loops));
  if (!plan.is_assumed) known.keep();
  return {};
}

}  // namespace loopsmith
