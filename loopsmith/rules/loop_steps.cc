// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/loop_steps.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

std::vector<Axis> axes_of(std::span<const NestLoop> loops) {
  std::vector<Axis> axes;
  for (const NestLoop& each : loops) axes.push_back(each.axis);
  return axes;
}

}  // namespace

NestLoop with_axis(const Schedule& schedule, LoopRV loop) {
  const For& over = schedule.get(loop);
  return {loop, {over.loop_var, over.min, over.extent}};
}

bool fits_type(const Schedule& schedule, std::span<const NestLoop> loops) {
  const auto is_wide = [&](const NestLoop& each) {
    return schedule.get(each.loop).loop_var->dtype.bits > 32;
  };
  const auto points = point_count(axes_of(loops));
  return loops.size() == 1 || (points && *points <= max_int(i32)) ||
         std::ranges::any_of(loops, is_wide);
}

LoopRV fuse_all(Schedule& schedule, std::span<const NestLoop> loops) {
  if (loops.size() == 1) return loops[0].loop;
  std::vector<LoopRV> handles;
  for (const NestLoop& each : loops) handles.push_back(each.loop);
  return fuse(schedule, handles, /*preserve_unit_iters=*/true, /*name=*/std::nullopt,
              /*wide=*/!fits_type(schedule, loops));
}

void run_in_threads(Schedule& schedule, LoopRV loop, const RuleContext& context,
                    bool is_all_of_nest) {
  if (!context.has_threads()) return;
  std::optional<SizeCondition> condition;
  if (!as_int(context.threads)) condition = {context.threads};
  const bool is_seen = is_all_of_nest && parallel.attempt(schedule, loop, false, condition);
  if (!is_seen) parallel(schedule, loop, /*assume_independent=*/is_all_of_nest, condition);
}

void parallelize(Schedule& schedule, const std::vector<NestLoop>& loops,
                 const RuleContext& context) {
  std::size_t prefix = parallel_prefix(axes_of(loops), context.machine);
  if (prefix == 0 || !context.has_threads()) return;
  while (!fits_type(schedule, std::span(loops).first(prefix))) --prefix;
  run_in_threads(schedule, fuse_all(schedule, std::span(loops).first(prefix)), context);
}

std::optional<LoopRV> vectorize_by(Schedule& schedule, LoopRV loop,
                                   std::optional<std::int64_t> extent, std::int64_t lanes,
                                   const RuleContext& context) {
  if (lanes <= 1 || extent == 1) return loop;
  if (extent && *extent <= lanes) {
    vectorize(schedule, loop);
    return {};
  }
  const Factor width = context.number(schedule, lanes, {lanes / 2, lanes * 2});
  const auto [vectors, lane] = split(schedule, loop, {infer, width}).take<2>();
  vectorize(schedule, lane);
  return vectors;
}

}  // namespace loopsmith
