// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reorder_statements.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"

namespace loopsmith {

Planned<ReorderStatementsPlan> plan_reorder_statements(
    const Schedule& schedule, const ReorderStatementsArguments& arguments) {
  const Argument moved = to_argument(arguments.first), target = to_argument(arguments.second);
  const NodeId first = schedule.node(arguments.first), second = schedule.node(arguments.second);
  ReorderStatementsPlan plan{.moved = moved, .sequence = common_ancestor(schedule, first, second)};
  const auto* sequence = schedule.as<SeqStmt>(plan.sequence);
  if (!sequence) return Refusal{&statements_are_siblings, {moved, target}};
  plan.from = schedule.at(child_towards(schedule, first, plan.sequence)).slot;
  const std::uint32_t place = schedule.at(child_towards(schedule, second, plan.sequence)).slot;
  plan.to = plan.from < place ? place - 1 : place;
  if (plan.to == plan.from) return plan;

  for (std::uint32_t i = std::min(plan.from, plan.to); i <= std::max(plan.from, plan.to); ++i) {
    if (const auto jump = jump_out_of(sequence->seq[i])) {
      return Refusal{&statements_run_to_their_end, {Argument(*jump), moved}};
    }
  }
  return plan;
}

Nothing commit_reorder_statements(Schedule& schedule, ReorderStatementsPlan&& plan) {
  if (plan.from == plan.to) return {};
  std::vector<Stmt> statements = schedule.as<SeqStmt>(plan.sequence)->seq;
  const Stmt moved = statements[plan.from];
  statements.erase(statements.begin() + plan.from);
  statements.insert(statements.begin() + plan.to, moved);
  schedule.replace(plan.sequence, seq(std::move(statements)));
  return {};
}

}  // namespace loopsmith
