// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/inlined_versions.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/replacement.h"

namespace loopsmith {
namespace {

/// The values of a block's axes, as a substitution.
Substitution bindings_of(const BlockRealize& realize) {
  Substitution bindings;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    bindings[realize.block->iter_vars[i]->var] = realize.iter_values[i];
  }
  return bindings;
}

/// The indices under which a statement loads elements of a buffer, each once.
std::vector<std::vector<Expr>> loads_of(const Ref& statement, const Ptr<Buffer>& buffer) {
  std::vector<std::vector<Expr>> found;
  pre_order_visit(statement, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    if (load && load->buffer.same_as(buffer)) {
      const bool is_known = std::ranges::any_of(found, [&](const auto& other) {
        return std::ranges::equal(other, load->indices, StructuralEqual());
      });
      if (!is_known) found.push_back(load->indices);
    }
    return !ref.is<Buffer>();
  });
  return found;
}

/// True when an expression uses nothing that the statement defines.
bool is_known_before(const Expr& expr, const Ref& statement) {
  const auto variables = free_variables(expr);
  bool is_known = true;
  pre_order_visit(statement, [&](const Ref& ref) {
    const Var* defined = nullptr;
    if (const auto* loop = ref.as<For>()) defined = loop->loop_var.as<Var>();
    if (const auto* let = ref.as<LetStmt>()) defined = let->var.get();
    if (const auto* let = ref.as<Let>()) defined = let->var.get();
    if (const auto* axis = ref.as<IterVar>()) defined = axis->var.get();
    is_known = is_known && std::ranges::none_of(
                               variables, [&](const auto& one) { return one.get() == defined; });
    return is_known && !ref.is<Buffer>();
  });
  return is_known;
}

/// True when the statement, of several or of loops, writes what the block reads: maybe before it
/// comes to load what the block computes.
bool writes_inputs_first(const Stmt& statement, const Block& block) {
  int stores = 0;
  bool is_input = false, repeats = false;
  pre_order_visit(statement, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      ++stores;
      is_input = is_input || std::ranges::any_of(block.reads, [&](const auto& region) {
                   return region->buffer->data.same_as(store->buffer->data);
                 });
    }
    repeats = repeats || ref.is<For>() || ref.is<While>();
    return !is_expr(*ref.get());
  });
  return is_input && (stores > 1 || repeats);
}

/// The block without what it reads of a buffer.
Ptr<Block> without_reads(const Ptr<Block>& block, const Ptr<Buffer>& buffer) {
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    if (!load.buffer.same_as(buffer)) return rewrite.children(load);
    return const_of(load.dtype, 0);
  });
  Block copy = *block;
  copy.body = rewrite(block->body);
  std::erase_if(copy.reads, [&](const auto& region) { return region->buffer.same_as(buffer); });
  return make(std::move(copy));
}

/// That a reduction is at the first or last values of its reduction axes.
Expr is_at(AtResult place, const BlockRealize& reduction) {
  Expr is = true;
  for (std::size_t i = 0; i < reduction.iter_values.size(); ++i) {
    const IterVar& axis = *reduction.block->iter_vars[i];
    if (axis.iter_type != IterType::comm_reduce) continue;
    const Expr first = axis.dom->min;
    const Expr last = first + axis.dom->extent - int_imm(first.dtype(), 1);
    is = is &&
         cast(first.dtype(), reduction.iter_values[i]) == (place == AtResult::start ? first : last);
  }
  return is;
}

}  // namespace

Stmt with_block_before_readers(const Schedule& schedule, NodeId scope, BlockRV handle,
                               const ElementValue& element, const std::vector<Place>& readers) {
  const Ptr<Block>& block = schedule.realize(handle).block;
  Replacements by{{&schedule.realize(handle), no_statement()}};
  for (const Place& place : readers) {
    const Object& node = *schedule.at(place.node).object;
    const Stmt reader =
        place.slot == no_node ? schedule.statement(place.node) : *statement_in(node, place.slot);
    const auto* realize = reader.as<BlockRealize>();
    if (writes_inputs_first(reader, *block)) return {};
    const Substitution bindings = realize ? bindings_of(*realize) : Substitution{};
    std::vector<Stmt> parts;
    for (const std::vector<Expr>& indices : loads_of(reader, element.buffer)) {
      BlockRealize before{.predicate = true, .block = block};
      for (const Expr& value : axes_from_indices(*block, element.indices, indices)) {
        before.iter_values.push_back(substitute(value, bindings));
        if (!is_known_before(before.iter_values.back(), reader)) return {};
      }
      if (before.iter_values.size() != block->iter_vars.size()) return {};
      parts.push_back(make(std::move(before)));
    }
    parts.push_back(reader);
    by[reader.get()] = make(SeqStmt{.seq = std::move(parts)});
  }
  return with_replaced(body_of_scope(schedule, scope), by);
}

namespace {

/// The block with these values of its axes, in terms of the other's, where `guards` hold; null
/// where some are not known.
Stmt moved_beside(const BlockRealize& realize, const BlockRealize& first, const Substitution& axes,
                  const std::vector<Expr>& guards) {
  const Substitution bindings = bindings_of(first);
  BlockRealize moved = realize;
  moved.predicate = first.predicate;
  for (const Expr& guard : guards) moved.predicate = moved.predicate && substitute(guard, bindings);
  for (std::size_t i = 0; i < moved.iter_values.size(); ++i) {
    const auto value = axes.find(moved.block->iter_vars[i]->var);
    if (value == axes.end()) return {};
    moved.iter_values[i] = substitute(value->second, bindings);
  }
  return make(std::move(moved));
}

}  // namespace

Stmt with_block_after(const Schedule& schedule, NodeId scope, BlockRV handle, BlockRV other,
                      const Substitution& axes, const std::vector<Expr>& guards) {
  const BlockRealize& first = schedule.realize(other);
  const Stmt moved = moved_beside(schedule.realize(handle), first, axes, guards);
  if (!moved) return {};
  const Stmt both = make(SeqStmt{.seq = {schedule.statement(schedule.node(other)), moved}});
  const Replacements by{{&schedule.realize(handle), no_statement()}, {&first, both}};
  return with_replaced(body_of_scope(schedule, scope), by);
}

std::pair<Stmt, Stmt> with_epilogue_at(AtResult place, const Schedule& schedule, NodeId scope,
                                       BlockRV epilogue, BlockRV reduction,
                                       const Ptr<Buffer>& buffer, const Substitution& axes,
                                       const std::vector<Expr>& guards) {
  const BlockRealize& realize = schedule.realize(epilogue);
  const BlockRealize& first = schedule.realize(reduction);
  BlockRealize judged = realize;
  if (place == AtResult::start) judged.block = without_reads(realize.block, buffer);
  BlockRealize beside = judged;
  const Stmt moved = moved_beside(beside, first, axes, guards);
  if (!moved) return {};
  beside = *moved.as<BlockRealize>();
  beside.predicate = beside.predicate && is_at(place, first);
  std::vector<Stmt> both{schedule.statement(schedule.node(reduction)), make(std::move(beside))};
  if (place == AtResult::start) std::swap(both[0], both[1]);
  const Stmt body = body_of_scope(schedule, scope);
  return {with_replaced(body, {{&realize, make(std::move(judged))}}),
          with_replaced(body, {{&realize, no_statement()}, {&first, make(SeqStmt{.seq = both})}})};
}

}  // namespace loopsmith
