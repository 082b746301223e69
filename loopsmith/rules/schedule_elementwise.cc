// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_elementwise.h"

#include <algorithm>
#include <span>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/nontemporal_stores.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/task_sizes.h"
#include "loopsmith/rules/walks.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/peel.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// True where the loop to be peeled, and that of its cells, are the last ones, in this order.
bool may_peel(const Peeling& peeling, const std::vector<NestLoop>& loops) {
  const std::size_t inside = peeling.cells ? 2 : 1;
  return loops.size() >= inside && peeling.axis.var.same_as(loops[loops.size() - inside].axis.var);
}

/// Peels a loop where its borders end; the last of `loops` is in between then, with the cells of
/// its columns. Gives the loops over cells in the borders.
std::vector<LoopRV> peel_loop(Schedule& schedule, const Peeling& peeling,
                              std::vector<NestLoop>& loops) {
  const std::size_t place = loops.size() - (peeling.cells ? 2 : 1);
  const auto& [axis, first, last, cells] = peeling;
  const Handles<LoopRV> parts = peel(schedule, loops[place].loop, first, last);
  const std::size_t middle = first > 0 ? 1 : 0;
  loops[place] = with_axis(schedule, parts[middle]);
  std::vector<LoopRV> borders;
  if (!cells) return borders;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == middle) continue;
    borders.push_back(get_loops(schedule, get_child_blocks(schedule, parts[i])[0]).back());
  }
  const LoopRV fused = fuse_all(schedule, std::span(loops).subspan(place));
  loops.pop_back();
  loops.back() = with_axis(schedule, fused);
  return borders;
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
  NestLoop along = all;
  const std::int64_t size = task_of(extent, lanes);
  if (has_threads && !(extent && *extent <= size)) {
    const Factor task = context.number(schedule, size, {size / 4, size * 4});
    const auto [tasks, part] = split(schedule, all.loop, {infer, task}).take<2>();
    run_in_threads(schedule, tasks, context, /*is_all_of_nest=*/true);
    along = with_axis(schedule, part);
  }
  vectorize_by(schedule, along.loop, constant_extent(along.axis), lanes, context);
}

/// Fuses the loops from the one on from which all accesses walk through memory, where these are
/// all, or the last might not fill vectors.
void fuse_walk(Schedule& schedule, const Nest& nest, std::vector<NestLoop>& loops,
               std::int64_t lanes) {
  const std::size_t first = first_of_walk(nest, loops);
  const std::int64_t cells = constant_extent(loops.back().axis).value_or(0);
  if (first != 0 && (first == loops.size() || cells >= 2 * lanes)) return;
  const LoopRV fused = fuse_all(schedule, std::span<const NestLoop>(loops).subspan(first));
  loops.resize(first + 1);
  loops[first] = with_axis(schedule, fused);
}

}  // namespace

bool schedule_elementwise(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1 || !subject.nests[0].reduction().empty()) return false;
  const Nest& nest = subject.nests[0];
  const std::int64_t lanes = lanes_of(nest, context.machine);
  auto found = look_up_loops(schedule, nest);
  if (!found || found->empty()) return false;
  std::vector<NestLoop>& loops = *found;

  const std::optional<Axis> along = contiguous_axis(nest);
  std::vector<LoopRV> borders;
  if (along) {
    const auto inner = std::ranges::find_if(
        loops, [&](const NestLoop& each) { return each.axis.var.same_as(along->var); });
    const bool is_last = inner + 1 == loops.end();
    std::rotate(inner, inner + 1, loops.end());
    auto peeling = peel_boundaries(nest, lanes);
    if (peeling && !may_peel(*peeling, loops)) peeling.reset();
    if (!is_last) {
      std::vector<LoopRV> order;
      for (const NestLoop& each : loops) order.push_back(each.loop);
      reorder(schedule, order);
    }
    if (peeling) {
      borders = peel_loop(schedule, *peeling, loops);
    } else {
      fuse_walk(schedule, nest, loops, lanes);
    }
  }
  const bool has_threads = context.has_threads();
  if (loops.size() == 1 && along) {
    schedule_long_loop(schedule, loops[0], lanes, has_threads, context);
  } else {
    const NestLoop inner = loops.back();
    if (along) loops.pop_back();
    if (has_threads) parallelize(schedule, loops, context);
    if (along) vectorize_by(schedule, inner.loop, constant_extent(inner.axis), lanes, context);
  }
  for (const LoopRV border : borders) {
    vectorize_by(schedule, border, constant_extent(with_axis(schedule, border).axis), lanes,
                 context);
  }
  stream(schedule, nest, get_loops(schedule, nest.block)[0], context.machine);
  return true;
}

}  // namespace loopsmith
