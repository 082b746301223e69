// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_init.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

Ptr<Block> without_init(const Block& block, Stmt body) {
  Block copy = block;
  copy.init = nullptr;
  copy.body = std::move(body);
  return make(std::move(copy));
}

/// The block with its init under the condition that its reduction axes are at their start.
Stmt guard_init(const BlockRealize& realize) {
  const Block& block = *realize.block;
  Expr at_start = true;
  for (const auto& axis : block.iter_vars) {
    if (arith::is_reduction(*axis)) at_start = at_start && axis->var == axis->dom->min;
  }
  BlockRealize copy = realize;
  copy.block = without_init(block, seq({guarded(at_start, block.init), block.body}));
  return make(std::move(copy));
}

bool uses_any(const Ref& root, std::span<const For* const> loops) {
  return std::ranges::any_of(loops,
                             [&](const For* loop) { return uses_variable(root, loop->loop_var); });
}

/// True when instances with different values of `axes` access different elements of what the block
/// writes: each of these axes is an index by itself, the same one in all accesses.
bool have_own_elements(const Block& block, const std::vector<Ptr<Var>>& axes) {
  std::unordered_map<const Buffer*, std::vector<Expr>> written;
  bool are_own = true;
  const auto is_same = StructuralEqual();
  const auto is_told = [&](const std::vector<Expr>& indices) {
    return std::ranges::all_of(axes, [&](const Ptr<Var>& axis) {
      return std::ranges::any_of(indices, [&](const Expr& index) { return index.same_as(axis); });
    });
  };
  const auto each_part = [&](const auto& visit) {
    for (const Stmt& part : {block.init, block.body}) pre_order_visit(part, visit);
  };
  each_part([&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      const auto [entry, is_new] = written.try_emplace(store->buffer.get(), store->indices);
      are_own = are_own && is_told(store->indices) &&
                (is_new || std::ranges::equal(entry->second, store->indices, is_same));
    }
    return are_own;
  });
  each_part([&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) {
      const auto found = written.find(load->buffer.get());
      are_own = are_own && (found == written.end() ||
                            std::ranges::equal(found->second, load->indices, is_same));
    }
    return are_own;
  });
  return are_own;
}

/// The init of `realize` as a nest before the outermost of `loops`, the perfect nest from the
/// first loop that binds a reduction axis to the block; null where that may change results.
Stmt init_before(const BlockRealize& realize, std::span<const For* const> loops) {
  std::vector<const For*> copied, reductions;
  for (const For* loop : loops) {
    const bool reduces = arith::is_reduction_loop(realize, loop->loop_var);
    (reduces ? reductions : copied).push_back(loop);
  }
  std::vector<Ptr<Var>> axes;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Ptr<IterVar>& axis = realize.block->iter_vars[i];
    if (arith::is_reduction(*axis)) continue;
    if (uses_any(realize.iter_values[i], reductions)) return nullptr;
    if (uses_any(realize.iter_values[i], copied)) axes.push_back(axis->var);
  }
  for (const For* loop : copied) {
    const bool binds = std::ranges::any_of(realize.iter_values, [&](const Expr& value) {
      return uses_variable(value, loop->loop_var);
    });
    if (!binds && !is_const_int(loop->extent, 1)) return nullptr;
    for (const Expr& bound : {loop->min, loop->extent, loop->step}) {
      if (uses_any(bound, reductions)) return nullptr;
    }
  }
  if (!have_own_elements(*realize.block, axes)) return nullptr;

  std::vector<Expr> ends;
  Expr predicate = true;
  for (const Expr& each : arith::conjuncts(realize.predicate)) {
    if (uses_any(each, reductions))
      ends.push_back(each);
    else
      predicate = predicate && each;
  }
  const Expr condition = arith::init_condition(realize, reductions, ends);
  if (!condition.defined() || uses_any(condition, reductions)) return nullptr;
  Stmt nest = arith::init_block(realize, predicate && condition);
  for (std::size_t i = copied.size(); i-- > 0;) {
    For loop = *copied[i];
    loop.body = std::move(nest);
    nest = make(std::move(loop));
  }
  return clone_with(nest, {});
}

}  // namespace

Ptr<PrimFunc> lower_init(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  std::vector<const For*> nest;  // The loops with nothing but each other around the current place.
  std::unordered_map<const For*, Stmt> before;  // What goes before a loop.
  arith::EmptyReductions empty_reductions;

  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt if_empty = empty_reductions.before(loop);
    const bool goes_on = loop.body.is<For>() || loop.body.is<BlockRealize>();
    nest.push_back(&loop);
    std::vector<const For*> outside;
    if (!goes_on) outside.swap(nest);
    const Stmt inner = rewrite.children(loop);
    if (!goes_on) outside.swap(nest);
    nest.pop_back();
    const auto init = before.find(&loop);
    if (init != before.end()) return seq({init->second, inner});
    return if_empty ? seq({if_empty, inner}) : inner;
  });

  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    std::vector<const For*> loops;
    loops.swap(nest);
    Ptr<BlockRealize> inner = rewrite.children(realize);
    loops.swap(nest);
    const Block& block = *inner->block;
    if (!block.init) return inner;

    const auto first = std::ranges::find_if(
        nest, [&](const For* loop) { return arith::is_reduction_loop(*inner, loop->loop_var); });
    const Stmt init = first == nest.end() ? Stmt() : init_before(*inner, {first, nest.end()});
    if (!init) return guard_init(*inner);
    before[*first] = init;
    BlockRealize copy = *inner;
    copy.block = without_init(block, block.body);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
