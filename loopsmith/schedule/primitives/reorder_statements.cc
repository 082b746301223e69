// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reorder_statements.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/legality/statement_order.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"

namespace loopsmith {

Planned<ReorderStatementsPlan> plan_reorder_statements(
    const Schedule& schedule, const ReorderStatementsArguments& arguments) {
  const Argument moved = to_argument(arguments.first), target = to_argument(arguments.second);
  const NodeId first = schedule.node(arguments.first), second = schedule.node(arguments.second);
  ReorderStatementsPlan plan{.sequence = common_ancestor(schedule, first, second)};
  const auto* sequence = schedule.as<SeqStmt>(plan.sequence);
  if (!sequence) return Refusal{&statements_are_siblings, {moved, target}};
  plan.from = schedule.at(child_towards(schedule, first, plan.sequence)).slot;
  const std::uint32_t place = schedule.at(child_towards(schedule, second, plan.sequence)).slot;
  plan.to = plan.from < place ? place - 1 : place;
  if (plan.to == plan.from) return plan;

  const Stmt& statement = sequence->seq[plan.from];
  for (std::uint32_t i = std::min(plan.from, plan.to); i <= std::max(plan.from, plan.to); ++i) {
    if (const auto jump = jump_out_of(sequence->seq[i])) {
      return Refusal{&statements_run_to_their_end, {Argument(*jump), moved}};
    }
  }
  for (std::uint32_t i = std::min(plan.from, plan.to); i <= std::max(plan.from, plan.to); ++i) {
    if (i == plan.from) continue;
    const Stmt& other = sequence->seq[i];
    OrderAnswer answer = i < plan.from ? may_exchange(schedule, plan.sequence, other, statement)
                                       : may_exchange(schedule, plan.sequence, statement, other);
    if (answer.kind == OrderAnswer::Kind::violated) {
      return changed_results(statements_need_their_order, {moved, Argument(Ref(other))},
                             std::move(answer.witness));
    }
    if (answer.kind == OrderAnswer::Kind::unknown) {
      return changed_results(statement_order_is_unknown,
                             {moved, Argument(Ref(other)), Argument(answer.why)});
    }
    if (answer.reorders_updates) {
      plan.reordered_reduction = rounding_reduction_inside(schedule, plan.sequence);
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
