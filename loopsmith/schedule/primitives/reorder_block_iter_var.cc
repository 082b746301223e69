// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reorder_block_iter_var.h"

#include <algorithm>
#include <numeric>

namespace loopsmith {

Planned<ReorderBlockIterVarPlan> plan_reorder_block_iter_var(
    const Schedule& schedule, const ReorderBlockIterVarArguments& arguments) {
  const std::size_t count = schedule.get(arguments.block).iter_vars.size();
  std::vector<std::int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  if (!std::ranges::is_permutation(arguments.new_order, all)) {
    return Refusal{&order_is_a_permutation,
                   {to_argument(arguments.new_order), Argument(static_cast<std::int64_t>(count)),
                    Argument(arguments.block)}};
  }
  return ReorderBlockIterVarPlan{arguments.block, arguments.new_order};
}

Nothing commit_reorder_block_iter_var(Schedule& schedule, ReorderBlockIterVarPlan&& plan) {
  BlockRealize& realize = schedule.edit_realize(plan.block);
  Block& block = schedule.edit(plan.block);
  std::vector<Expr> values;
  std::vector<Ptr<IterVar>> axes;
  for (const std::int64_t place : plan.order) {
    values.push_back(realize.iter_values[static_cast<std::size_t>(place)]);
    axes.push_back(block.iter_vars[static_cast<std::size_t>(place)]);
  }
  realize.iter_values = std::move(values);
  block.iter_vars = std::move(axes);
  return {};
}

}  // namespace loopsmith
