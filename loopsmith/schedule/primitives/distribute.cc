// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/distribute.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

/// What a loop, or a condition that each part may ask again, holds; null for other nodes.
Stmt held_by(const Schedule& schedule, NodeId node) {
  if (const auto* loop = schedule.as<For>(node)) return loop->body;
  const auto* branch = schedule.as<IfThenElse>(node);
  const bool may_repeat = branch && !branch->else_case && !reads_memory(branch->condition);
  return may_repeat ? branch->then_case : Stmt();
}

/// The loop and what is inside it, each alone in the one around, down to a sequence; no sequence:
/// empty.
std::vector<NodeId> chain_to_sequence(const Schedule& schedule, LoopRV loop) {
  std::vector<NodeId> chain;
  for (NodeId node = schedule.node(loop); node != no_node; node = only_child(schedule, node)) {
    const Stmt body = held_by(schedule, node);
    if (!body) break;
    chain.push_back(node);
    if (body.is<SeqStmt>()) return chain;
  }
  return {};
}

}  // namespace

Planned<DistributePlan> plan_distribute(const Schedule& schedule,
                                        const DistributeArguments& arguments) {
  DistributePlan plan{arguments.loop, chain_to_sequence(schedule, arguments.loop), {}, {}};
  if (plan.chain.empty()) return Refusal{&loop_has_statements, {Argument(arguments.loop)}};
  for (const NodeId node : plan.chain) {
    if (!schedule.as<For>(node)) continue;
    const LoopRV loop = schedule.loop_at(node);
    if (auto refusal = refuse_unless_plain(schedule, loop)) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loop, arguments.loop)) {
      return *std::move(refusal);
    }
  }
  const Stmt body = held_by(schedule, plan.chain.back());
  if (const auto jump = jump_out_of(body)) {
    return Refusal{&iterations_reach_their_end, {Argument(*jump), Argument(arguments.loop)}};
  }
  plan.parts = body.as<SeqStmt>()->seq;
  return plan;
}

Handles<LoopRV> commit_distribute(Schedule& schedule, DistributePlan&& plan) {
  const NodeId top = plan.chain.front();
  const std::uint32_t function = schedule.function_of(top);
  const SpanScope span(schedule.span_from(schedule.as<For>(top)->span));
  const Stmt body = held_by(schedule, plan.chain.back());
  const std::vector<Stmt>& statements = body.as<SeqStmt>()->seq;
  plan.cuts.push_back(statements.size());

  std::vector<Stmt> nests;
  std::vector<Ptr<Var>> variables;
  Schedule::Renewed renewed;
  std::size_t first = 0;
  for (const std::size_t end : plan.cuts) {
    const auto at = [&](std::size_t i) {
      return statements.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const Stmt part = seq(std::vector<Stmt>(at(first), at(end)));
    Substitution values;
    std::vector<For> loops;
    for (const NodeId node : plan.chain) {
      if (!schedule.as<For>(node)) continue;
      For loop = *schedule.as<For>(node);
      if (first > 0) {
        const std::string name = schedule.fresh_loop_name(
            function, fmt::format("{}_{}", loop.loop_var->name, nests.size()));
        const Ptr<Var> fresh = var(name, loop.loop_var->dtype);
        loop.min = substitute(loop.min, values);
        loop.extent = substitute(loop.extent, values);
        loop.step = substitute(loop.step, values);
        values[loop.loop_var] = fresh;
        loop.loop_var = fresh;
      }
      loops.push_back(std::move(loop));
    }
    Stmt nest = values.empty() ? part : substitute(part, values);
    add_renewed_blocks(part, nest, renewed);
    variables.push_back(loops[0].loop_var);
    for (std::size_t i = plan.chain.size(); i-- > 0;) {
      if (const auto* branch = schedule.as<IfThenElse>(plan.chain[i])) {
        nest =
            make(IfThenElse{.condition = substitute(branch->condition, values), .then_case = nest});
        continue;
      }
      loops.back().body = std::move(nest);
      nest = make(std::move(loops.back()));
      loops.pop_back();
    }
    nests.push_back(std::move(nest));
    first = end;
  }
  schedule.replace(top, seq(std::move(nests)), renewed);
  Handles<LoopRV> made;
  for (const Ptr<Var>& variable : variables)
    made.push_back(loop_of_var(schedule, function, variable));
  return made;
}

}  // namespace loopsmith
