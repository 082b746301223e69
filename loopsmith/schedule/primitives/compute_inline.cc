// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/compute_inline.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/inlined_versions.h"

namespace loopsmith {
namespace {

/// True when the block writes the whole buffer: each dimension is an axis of its extent.
bool writes_all(const Block& block, const ElementValue& element, const Instances& instances) {
  if (!instances.conditions.empty()) return false;
  for (std::size_t d = 0; d < element.indices.size(); ++d) {
    const Expr& extent = element.buffer->shape[d];
    if (is_const_int(element.indices[d], 0) && is_const_int(extent, 1)) continue;
    const bool is_whole = std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
      return axis->var.same_as(element.indices[d]) && is_const_int(axis->dom->min, 0) &&
             structural_equal(axis->dom->extent, extent);
    });
    if (!is_whole) return false;
  }
  return true;
}

/// True when the elements that a use may access are stored by running instances of the block.
bool is_written(const Schedule& schedule, const BufferAccess& use, const Block& block,
                const ElementValue& element, const Instances& instances) {
  Analyzer analyzer;
  std::vector<Expr> indices;
  Substitution axes;
  if (use.region) {
    const auto& realize = *schedule.as<BlockRealize>(use.place.node);
    for (const auto& axis : realize.block->iter_vars) analyzer.bind(axis->var, axis->dom);
    for (std::size_t d = 0; d < use.region->region.size(); ++d) {
      const Range& part = *use.region->region[d];
      if (is_const_int(part.extent, 1)) {
        indices.push_back(part.min);
        continue;
      }
      const Ptr<Var> any = var("x", part.min.dtype());
      analyzer.bind(any, range(part.min, part.extent));
      indices.push_back(any);
    }
  } else {
    indices = *use.indices;
    for (const LoopRV loop : loops_around(schedule, use.place.node)) {
      const For& around = schedule.get(loop);
      if (is_const_int(around.step, 1)) {
        analyzer.bind(around.loop_var, range(around.min, around.extent));
      }
    }
  }
  const auto values = axes_from_indices(block, element.indices, indices);
  Expr condition = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Range& domain = *block.iter_vars[i]->dom;
    condition = condition && values[i] >= domain.min && values[i] < domain.min + domain.extent;
    axes[block.iter_vars[i]->var] = values[i];
  }
  for (const Expr& limit : instances.conditions) condition = condition && substitute(limit, axes);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    // Dimensions that are constant in the block.
    if (element.indices[d].is<IntImm>()) condition = condition && indices[d] == element.indices[d];
  }
  return std::ranges::all_of(arith::conjuncts(condition), [&](const Expr& part) {
    return analyzer.can_prove(part, ProofStrength::symbolic_bound);
  });
}

/// True for a statement that does nothing but store, in loops that end.
bool only_stores(const Stmt& stmt) {
  bool is_plain = true;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const bool is_statement = Stmt::from(ref).defined();
    const bool is_known = ref.is<For>() || ref.is<SeqStmt>() || ref.is<IfThenElse>() ||
                          ref.is<LetStmt>() || ref.is<BufferStore>();
    const auto* call = ref.as<Call>();
    is_plain = is_plain && (!is_statement || is_known) && (!call || call->op.is_pure());
    return is_plain;
  });
  return is_plain;
}

/// True when a step that took the block away would change no result.
///
/// Lemma. A block that only stores, into memory that its scope allocates and that no other
/// statement of the scope reads, is not seen: its values are gone when the scope ends.
bool is_dead(const Schedule& schedule, BlockRV handle, const ScopeAccesses& uses) {
  const Block& block = schedule.get(handle);
  const NodeId node = schedule.node(handle);
  const NodeId scope = scope_of(schedule, node);
  const bool does_store = only_stores(block.body) && (!block.init || only_stores(block.init));
  if (!does_store || block.writes.empty() || !block.match_buffers.empty()) return false;
  std::vector<const Buffer*> stored;
  pre_order_visit(block.body, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) stored.push_back(store->buffer.get());
    return true;
  });
  for (const auto& region : block.writes) {
    const Ptr<Buffer>& buffer = region->buffer;
    const BufferAccesses accesses = uses_of(schedule, scope, buffer);
    if (!accesses.by_indices_alone() || accesses.by_callee) return false;
    std::erase(stored, buffer.get());
    const bool is_read = std::ranges::any_of(uses.all, [&](const BufferAccess& use) {
      return use.buffer == buffer.get() && use.place.node != node && !use.is_write;
    });
    if (is_read) return false;
  }
  return stored.empty();
}

}  // namespace

Planned<ComputeInlinePlan> plan_compute_inline(const Schedule& schedule,
                                               const ComputeInlineArguments& arguments) {
  const BlockRV handle = arguments.block;
  const NodeId node = schedule.node(handle);
  const Block& block = schedule.get(handle);
  if (auto refusal = refuse_root(schedule, handle)) return *std::move(refusal);
  if (is_output_block(schedule, handle)) return Refusal{&block_is_no_output, {Argument(handle)}};
  const ScopeAccesses uses = accesses_in_scope(schedule, scope_of(schedule, node));
  if (is_dead(schedule, handle, uses)) return ComputeInlinePlan{handle, {}, {}};
  const BlockKinds kinds = kinds_of(schedule, handle, uses);
  if (!kinds.is_complete()) {
    return Refusal{&block_is_complete,
                   {Argument(handle), Argument(std::int64_t{kinds.breaks_complete})}};
  }
  auto element = element_value_of(schedule, handle);
  if (auto* refusal = std::get_if<Refusal>(&element)) return std::move(*refusal);
  ComputeInlinePlan plan{handle, std::get<ElementValue>(std::move(element)), {}};
  const Buffer* buffer = plan.element.buffer.get();
  if (axes_from_indices(block, plan.element.indices, plan.element.indices).empty() &&
      !block.iter_vars.empty()) {
    Argument::List indices;
    for (const Expr& index : plan.element.indices) indices.emplace_back(Ref(index));
    return Refusal{&indices_tell_axes, {indices, Argument(Ref(buffer)), Argument(handle)}};
  }
  const Instances instances = instances_of(schedule, handle);
  if (!instances.unknown.empty()) {
    return Refusal{&instances_are_known, {Argument(handle), Argument(instances.unknown)}};
  }
  const bool is_whole = writes_all(block, plan.element, instances);
  bool is_proved = true;
  for (const BufferAccess& use : uses.all) {
    if (use.buffer != buffer || use.place.node == node) continue;
    if (use.is_block) {
      const BlockRV reader = schedule.block_at(use.place.node);
      if (use.by_view || !accesses_elements(schedule.get(reader), *buffer)) {
        return Refusal{&readers_read_elements, {Argument(Ref(buffer)), Argument(reader)}};
      }
      if (!schedule.get(reader).iter_vars.empty()) {
        if (auto refusal = refuse_loops_in_body(schedule, handle)) return *std::move(refusal);
      }
    }
    if (use.by_view || !is_before(schedule, Place{node}, use.place) ||
        (!is_whole && !is_written(schedule, use, block, plan.element, instances))) {
      return changed_results(what_is_read_is_written, {Argument(handle), Argument(Ref(buffer))});
    }
    is_proved = is_proved && reads_the_same_at(schedule, handle, use.place, uses);
    const bool is_known = std::ranges::any_of(plan.readers, [&](const Place& place) {
      return place.node == use.place.node && place.slot == use.place.slot;
    });
    if (!is_known) plan.readers.push_back(use.place);
  }
  if (plan.readers.empty()) return Refusal{&block_has_consumers, {Argument(handle)}};
  if (is_proved) return plan;
  const NodeId scope = scope_of(schedule, node);
  const Stmt after = with_block_before_readers(schedule, scope, handle, plan.element, plan.readers);
  if (auto refusal = refuse_changed_results(schedule, scope, after, true)) {
    return *std::move(refusal);
  }
  return plan;
}

namespace {

/// Takes a block away whose results no statement reads, and its memory unless others write there.
Nothing remove_dead(Schedule& schedule, BlockRV block) {
  const NodeId node = schedule.node(block);
  const std::vector<Ptr<BufferRegion>> writes = schedule.get(block).writes;
  const BlockRV owner = *block_around(schedule, node);
  schedule.remove(node);
  for (const auto& region : writes) {
    if (uses_of(schedule, schedule.node(owner), region->buffer).nodes.empty()) {
      free_in(schedule, owner, region->buffer);
    }
  }
  return {};
}

}  // namespace

Nothing commit_compute_inline(Schedule& schedule, ComputeInlinePlan&& plan) {
  const NodeId node = schedule.node(plan.block);
  if (!plan.element.buffer) return remove_dead(schedule, plan.block);
  const Inliner inline_into(plan.element, schedule.realize(plan.block).block);
  for (const Place& place : plan.readers) inline_into(schedule, place);
  const BlockRV owner = *block_around(schedule, node);
  schedule.remove(node);
  free_in(schedule, owner, plan.element.buffer);
  return {};
}

}  // namespace loopsmith
