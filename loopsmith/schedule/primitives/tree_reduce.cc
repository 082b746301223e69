// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/tree_reduce.h"

#include <algorithm>

#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// Splits the loop and factors each level. The steps are asked before they are taken where `asks`
/// is set; the first that is refused ends it.
std::variant<Handles<BlockRV>, Refusal> reduce_in_levels(Schedule& schedule,
                                                         const TreeReduceArguments& arguments,
                                                         bool asks) {
  const SplitArguments parts{.loop = arguments.loop,
                             .factors = {arguments.factors.begin(), arguments.factors.end()}};
  if (asks) {
    if (auto refusal = split.refusal_of(schedule, parts)) return *std::move(refusal);
  }
  const Handles<LoopRV> levels = split.apply_within(schedule, parts);
  const BlockRV last = child_blocks(schedule, schedule.node(levels.back()))[0];
  Handles<BlockRV> blocks{last};
  // The copies of the loops around each block of partial results stand as these do.
  const auto around = loops_around(schedule, schedule.node(last));
  const auto first =
      static_cast<std::size_t>(std::ranges::find(around, levels[0]) - around.begin());
  for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
    const auto loops = loops_around(schedule, schedule.node(blocks.front()));
    const std::size_t from_inside = around.size() - (first + level);
    const RfactorArguments factored{.loop = loops[loops.size() - from_inside],
                                    .factor_axis = arguments.factor_axis};
    if (asks) {
      if (auto refusal = rfactor.refusal_of(schedule, factored)) return *std::move(refusal);
    }
    blocks.insert(blocks.begin(), rfactor.apply_within(schedule, factored));
  }
  return blocks;
}

}  // namespace

Planned<TreeReducePlan> plan_tree_reduce(const Schedule& schedule,
                                         const TreeReduceArguments& arguments) {
  if (arguments.factors.size() < 2) {
    return Refusal{
        &tree_has_levels,
        {Argument(static_cast<std::int64_t>(arguments.factors.size())), Argument(arguments.loop)}};
  }
  const auto blocks = child_blocks(schedule, schedule.node(arguments.loop));
  if (blocks.size() != 1) {
    return Refusal{&nest_has_one_block,
                   {Argument(arguments.loop), Argument(static_cast<std::int64_t>(blocks.size()))}};
  }
  Schedule after = schedule.snapshot();
  auto made = reduce_in_levels(after, arguments, true);
  if (auto* refusal = std::get_if<Refusal>(&made)) {
    return in_terms_of(arguments.loop, std::move(*refusal));
  }
  return TreeReducePlan{arguments, rounding_reduction(schedule, blocks[0])};
}

Handles<BlockRV> commit_tree_reduce(Schedule& schedule, TreeReducePlan&& plan) {
  return std::get<Handles<BlockRV>>(reduce_in_levels(schedule, plan.arguments, false));
}

}  // namespace loopsmith
