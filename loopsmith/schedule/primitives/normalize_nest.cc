// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/normalize_nest.h"

#include <optional>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

bool has_jumps(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    found = found || ref.is<Break>() || ref.is<Continue>() || ref.is<Return>();
    // Those of a while loop stay in its block.
    return !found && !ref.is<While>() && !is_expr(*ref.get());
  });
  return found;
}

/// Loops start at 0 and go up by 1 in normal form: what they started at is computed in their
/// bodies.
std::optional<Refusal> refuse_unless_all_bounds_stay(const Schedule& schedule, LoopRV loop) {
  if (auto refusal = refuse_unless_bounds_stay(schedule, loop)) return refusal;
  for (const LoopRV inner : child_loops(schedule, schedule.node(loop))) {
    std::optional<Refusal> refusal;
    deep_call([&] { refusal = refuse_unless_all_bounds_stay(schedule, inner); });
    if (refusal) return refusal;
  }
  return {};
}

/// The same of the loops around it, which become axes, too; those around blocks without axes as
/// well.
std::optional<Refusal> refuse_unless_outer_bounds_stay(const Schedule& schedule, LoopRV loop) {
  for (NodeId node = schedule.at(schedule.node(loop)).parent; node != no_node;
       node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (realize && !realize->block->iter_vars.empty()) break;
    if (!schedule.as<For>(node)) continue;
    auto refusal = refuse_unless_bounds_stay(schedule, schedule.loop_at(node));
    if (refusal) return refusal;
  }
  return {};
}

}  // namespace

Planned<NormalizeNestPlan> plan_normalize_nest(const Schedule& schedule,
                                               const NormalizeNestArguments& arguments) {
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_all_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  if (auto refusal = refuse_unless_outer_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  if (has_jumps(schedule.get(arguments.loop).body)) {
    return Refusal{&iterations_reach_their_end,
                   {Argument("break, continue or return"), Argument(arguments.loop)}};
  }
  return NormalizeNestPlan{arguments.loop};
}

Handles<BlockRV> commit_normalize_nest(Schedule& schedule, NormalizeNestPlan&& plan) {
  block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  NormalizedNest nest = normalized_nest(schedule, plan.loop);
  schedule.replace(node, nest.nest, nest.renewed);
  Handles<BlockRV> made;
  for (const std::string& name : nest.new_blocks) {
    made.push_back(schedule.blocks_named(function, name).back());
  }
  return made;
}

}  // namespace loopsmith
