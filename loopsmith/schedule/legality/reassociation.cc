// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/reassociation.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

bool is_reduced(const IterVar& axis) {
  return axis.iter_type == IterType::comm_reduce && !is_const_int(axis.dom->extent, 1);
}

bool reduces_rounding(const Block& block) {
  const bool rounds = std::ranges::any_of(
      block.writes, [](const auto& region) { return region->buffer->dtype.is_float(); });
  return rounds &&
         std::ranges::any_of(block.iter_vars, [](const auto& axis) { return is_reduced(*axis); });
}

/// The first buffer of floating-point numbers in which statements accumulate; null without one.
Ref accumulates_rounding(const ElementAccesses& accesses) {
  for (const ElementAccess& access : accesses.all) {
    if (access.is_write && access.group && access.buffer->dtype.is_float()) {
      return Ref(access.buffer);
    }
  }
  return nullptr;
}

/// True when instances of a block that is no reduction, or it and others, add up rounded numbers in
/// one element.
bool shares_accumulator(const Schedule& schedule, BlockRV handle, const ScopeAccesses& uses) {
  const Ref buffer = accumulates_rounding(accesses_of_block(schedule, handle));
  if (!buffer.defined()) return false;
  const NodeId node = schedule.node(handle);
  const bool is_shared = std::ranges::any_of(uses.all, [&](const BufferAccess& use) {
    return use.is_write && use.place.node != node && buffer.same_as(Ref(use.buffer));
  });
  return is_shared || !axes_are_injective(schedule, handle);
}

/// True when the loop has several iterations and moves a reduction axis of the block.
bool binds_reduction_axis(const BlockRealize& realize, const For& loop) {
  if (is_const_int(loop.extent, 1)) return false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (is_reduced(*realize.block->iter_vars[i]) &&
        uses_variable(realize.iter_values[i], loop.loop_var)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Argument> rounding_reduction(const Schedule& schedule, BlockRV handle) {
  return reduces_rounding(schedule.get(handle)) ? std::optional(Argument(handle)) : std::nullopt;
}

std::optional<Refusal> refuse_terms_of_results(const Schedule& schedule, LoopRV loop,
                                               BlockRV handle) {
  const auto refused = [&](std::string why) {
    const Block& block = schedule.get(handle);
    Argument results(handle);
    if (!block.writes.empty()) results = Argument(Ref(block.writes[0]->buffer));
    return changed_results(updates_are_read,
                           {Argument(loop), std::move(results), Argument(std::move(why))});
  };
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  if (!accesses.opaque.empty()) return refused(accesses.opaque);
  if (accesses.by_pointer) return refused("it accesses memory by a pointer");
  std::unordered_set<const Object*> stored;
  for (const ElementAccess& access : accesses.all) {
    if (access.is_write) stored.insert(access.buffer->data.get());
  }
  const bool reads_results = std::ranges::any_of(accesses.all, [&](const ElementAccess& access) {
    return !access.is_write && !access.group && stored.contains(access.buffer->data.get());
  });
  return reads_results ? std::optional(refused("a term reads their memory")) : std::nullopt;
}

std::optional<Refusal> refuse_mixed_reductions(const Schedule& schedule, LoopRV loop,
                                               BlockRV block) {
  const NodeId scope = scope_of(schedule, schedule.node(block));
  if (starts_before_loop(schedule, block, loop, accesses_in_scope(schedule, scope))) return {};
  return changed_results(init_can_go_first,
                         {Argument(block), Argument(loop),
                          Argument("an element may have terms of more than one reduction")});
}

bool reduces_rounding_inside(const Block& block) {
  bool has_blocks = false, reduces = false;
  pre_order_visit(block.body, [&](const Ref& ref) {
    if (const auto* inner = ref.as<Block>()) {
      has_blocks = true;
      reduces = reduces || reduces_rounding(*inner);
    }
    return !reduces;
  });
  return has_blocks ? reduces : accumulates_rounding(accesses_of_block(block)).defined();
}

std::optional<Argument> rounding_reduction_inside(const Schedule& schedule, NodeId node) {
  for (const BlockRV block : child_blocks(schedule, node)) {
    if (auto reduction = rounding_reduction(schedule, block)) return reduction;
  }
  const Ref buffer = accumulates_rounding(accesses_inside(schedule, node));
  return buffer.defined() ? std::optional(Argument(buffer)) : std::nullopt;
}

std::optional<Argument> reordered_reduction(const Schedule& schedule, std::span<const LoopRV> band,
                                            std::span<const std::size_t> order) {
  for (const BlockRV block : child_blocks(schedule, schedule.node(band[0]))) {
    auto reduction = rounding_reduction(schedule, block);
    if (!reduction) continue;
    const BlockRealize& realize = schedule.realize(block);
    std::vector<std::size_t> reducing;
    for (const std::size_t place : order) {
      if (binds_reduction_axis(realize, schedule.get(band[place]))) reducing.push_back(place);
    }
    if (!std::ranges::is_sorted(reducing)) return reduction;
  }
  return {};
}

std::optional<Argument> reduction_out_of_order(const Schedule& schedule, BlockRV block,
                                               const ScopeAccesses& uses) {
  auto reduction = rounding_reduction(schedule, block);
  if (!reduction) {
    return shares_accumulator(schedule, block, uses) ? std::optional(Argument(block))
                                                     : std::nullopt;
  }
  const BlockRealize& realize = schedule.realize(block);
  const IndexForms forms(ranges_around(schedule, schedule.node(block)));
  std::vector<const For*> reducing;
  for (const LoopRV loop : loops_around(schedule, schedule.node(block))) {
    if (binds_reduction_axis(realize, schedule.get(loop))) reducing.push_back(&schedule.get(loop));
  }
  // Axis by axis, and in each the loops by weight.
  std::size_t next = 0;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (!is_reduced(*realize.block->iter_vars[i])) continue;
    const auto form = forms.read(realize.iter_values[i]);
    if (!form) return reduction;
    IndexTerms terms = form->terms;
    std::ranges::sort(terms, std::greater(), &IndexTerm::coefficient);
    for (const IndexTerm& term : terms) {
      const bool is_next = next < reducing.size() && term.coefficient > 0 &&
                           term.atom.same_as(reducing[next]->loop_var);
      if (!is_next) return reduction;
      ++next;
    }
  }
  return next == reducing.size() ? std::nullopt : reduction;
}

}  // namespace loopsmith
