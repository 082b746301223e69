// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/places.h"

#include <fmt/format.h>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// The node whose slots are the statements of a loop's body.
NodeId body_of(const Schedule& schedule, LoopRV loop) {
  const NodeId node = schedule.node(loop);
  const NodeId body = schedule.at(node).first_child;
  return body != no_node && schedule.as<SeqStmt>(body) ? body : node;
}

/// Refuses a block with an axis whose domain is one of a loop that is not around the place, too.
std::optional<Refusal> refuse_loops_in_domains(const Schedule& schedule, BlockRV block,
                                               NodeId place) {
  for (const LoopRV around : loops_around(schedule, schedule.node(block))) {
    if (is_inside(schedule, place, schedule.node(around))) continue;
    const Ptr<Var>& variable = schedule.get(around).loop_var;
    const auto is_of_loop = [&](const Expr& bound) {
      return !bound.is<IntImm>() && uses_variable(bound, variable);
    };
    for (const auto& axis : schedule.get(block).iter_vars) {
      if (!is_of_loop(axis->dom->min) && !is_of_loop(axis->dom->extent)) continue;
      return Refusal{
          &instances_are_known,
          {Argument(block), Argument(fmt::format("the domain of axis {} is one of loop {}",
                                                 axis->var->name, variable->name))}};
    }
  }
  return {};
}

}  // namespace

std::optional<Refusal> refuse_root(const Schedule& schedule, BlockRV block) {
  if (block_around(schedule, schedule.node(block))) return {};
  return Refusal{&block_is_not_root, {Argument(block)}};
}

std::optional<Refusal> refuse_place(const Schedule& schedule, BlockRV block, LoopRV loop) {
  if (auto refusal = refuse_root(schedule, block)) return refusal;
  const NodeId node = schedule.node(block);
  const NodeId target = schedule.node(loop);
  if (is_inside(schedule, node, target)) {
    return Refusal{&loop_is_not_around, {Argument(block), Argument(loop)}};
  }
  if (scope_of(schedule, node) != scope_of(schedule, target)) {
    return Refusal{&loop_is_in_scope, {Argument(block), Argument(loop)}};
  }
  if (auto refusal = refuse_loops_in_domains(schedule, block, target)) return refusal;
  // Inside axes no loop further out may be used.
  return refuse_loops_in_body(schedule, block);
}

std::optional<Refusal> refuse_loops_in_body(const Schedule& schedule, BlockRV block) {
  // A block without axes uses those around the block that it is in, too.
  for (std::optional<BlockRV> inside = block; inside && schedule.get(*inside).iter_vars.empty();
       inside = block_around(schedule, schedule.node(*inside))) {
    for (const LoopRV around : loops_around(schedule, schedule.node(*inside))) {
      if (uses_variable(Ref(&schedule.get(block)), schedule.get(around).loop_var)) {
        return Refusal{&block_uses_axes_alone, {Argument(block), Argument(around)}};
      }
    }
  }
  return {};
}

std::optional<Refusal> refuse_other_kinds(const Schedule& schedule, BlockRV block,
                                          const ScopeAccesses& uses) {
  const BlockKinds kinds = kinds_of(schedule, block, uses);
  if (kinds.is_complete() || kinds.is_reduction()) return {};
  return Refusal{&block_is_complete_or_reduction,
                 {Argument(block), Argument(std::int64_t{kinds.breaks_complete}),
                  Argument(std::int64_t{kinds.breaks_reduction})}};
}

std::uint32_t slot_in_loop(const Schedule& schedule, const Place& place, LoopRV loop) {
  const NodeId body = body_of(schedule, loop);
  if (place.node == body || place.node == schedule.node(loop)) {
    return place.slot == no_node ? 0 : place.slot;
  }
  return schedule.at(child_towards(schedule, place.node, body)).slot;
}

std::uint32_t slots_in_loop(const Schedule& schedule, LoopRV loop) {
  const auto* sequence = schedule.as<SeqStmt>(body_of(schedule, loop));
  return sequence ? static_cast<std::uint32_t>(sequence->seq.size()) : 1;
}

std::optional<std::uint32_t> place_between(std::uint32_t first, std::uint32_t last,
                                           std::int64_t index, std::uint32_t default_value) {
  if (index == -1) return default_value;
  if (index == -2) return first;
  if (index < first || index > last) return {};
  return static_cast<std::uint32_t>(index);
}

Argument name_of_place(const Schedule& schedule, const Place& place) {
  for (NodeId node = place.node; node != no_node; node = schedule.at(node).parent) {
    if (schedule.as<BlockRealize>(node)) return schedule.block_at(node);
    if (schedule.as<For>(node)) return schedule.loop_at(node);
  }
  return "the function";
}

}  // namespace loopsmith
