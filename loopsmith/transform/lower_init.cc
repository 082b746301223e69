// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_init.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

using VarSet = std::unordered_set<const Object*>;

bool uses_any(const Ref& root, const VarSet& variables) {
  for (const Ptr<Var>& used : free_variables(root)) {
    if (variables.contains(used.get())) return true;
  }
  return false;
}

bool is_reduction(const IterVar& axis) {
  return axis.iter_type != IterType::data_par;
}

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
    if (is_reduction(*axis)) at_start = at_start && axis->var == axis->dom->min;
  }
  BlockRealize copy = realize;
  copy.block = without_init(block, seq({guarded(at_start, block.init), block.body}));
  return make(std::move(copy));
}

/// A block that does the init of `realize` at its spatial axes, where `predicate` holds.
Stmt init_block(const BlockRealize& realize, Expr predicate) {
  const Block& block = *realize.block;
  Block init{.writes = block.writes, .name_hint = block.name_hint + "_init", .body = block.init};
  BlockRealize result{.predicate = std::move(predicate)};
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (is_reduction(*block.iter_vars[i])) continue;
    init.iter_vars.push_back(block.iter_vars[i]);
    result.iter_values.push_back(realize.iter_values[i]);
  }
  result.block = make(std::move(init));
  return make(std::move(result));
}

/// True when `loop_var` drives a reduction axis of the block.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (is_reduction(*realize.block->iter_vars[i]) &&
        uses_variable(realize.iter_values[i], loop_var)) {
      return true;
    }
  }
  return false;
}

/// The init of `realize` under copies of the spatial ones of `loops`, which start with the
/// outermost reduction loop; null when that would change which elements are initialised.
Stmt decompose(const BlockRealize& realize, std::span<const For* const> loops) {
  VarSet spatial, reduction;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    VarSet& side = is_reduction(*realize.block->iter_vars[i]) ? reduction : spatial;
    for (const auto& used : free_variables(realize.iter_values[i])) side.insert(used.get());
  }

  std::vector<const For*> copied;
  VarSet dropped;
  for (const For* loop : loops) {
    const bool is_spatial = spatial.contains(loop->loop_var.get());
    if (is_spatial == reduction.contains(loop->loop_var.get())) return nullptr;
    for (const Expr& bound : {loop->min, loop->extent, loop->step}) {
      if (uses_any(bound, dropped)) return nullptr;
    }
    if (is_spatial) {
      copied.push_back(loop);
    } else {
      dropped.insert(loop->loop_var.get());
    }
  }
  // A loop further out that drives the reduction would start it again and again.
  for (const Object* driver : reduction) {
    if (!dropped.contains(driver)) return nullptr;
  }

  // Where the loops start later, as parts of others do, an earlier one did the init.
  Substitution starts;
  for (const For* loop : loops) starts[loop->loop_var] = loop->min;
  Analyzer analyzer;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    const Expr start = substitute(realize.iter_values[i], starts);
    if (is_reduction(axis) && !analyzer.can_prove_equal(start, axis.dom->min)) return nullptr;
  }

  // A condition on reduction loops alone says where the reduction ends, not what is initialised.
  std::vector<Expr> kept;
  for (const Expr& condition : arith::conjuncts(realize.predicate)) {
    if (!uses_any(condition, dropped)) {
      kept.push_back(condition);
    } else if (uses_any(condition, spatial)) {
      return nullptr;
    }
  }

  Stmt init = init_block(realize, conjunction(kept));
  for (std::size_t i = copied.size(); i-- > 0;) {
    For loop = *copied[i];
    loop.body = std::move(init);
    init = make(std::move(loop));
  }
  return clone_with(init, {});
}

}  // namespace

Ptr<PrimFunc> lower_init(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  std::vector<const For*> nest;  // The loops with nothing but each other around the current place.
  std::unordered_map<const For*, Stmt> before;  // What goes before a loop.

  rewrite.on<For>([&](const For& loop) -> Stmt {
    const bool goes_on = loop.body.is<For>() || loop.body.is<BlockRealize>();
    nest.push_back(&loop);
    std::vector<const For*> outside;
    if (!goes_on) outside.swap(nest);
    const Stmt inner = rewrite.children(loop);
    if (!goes_on) outside.swap(nest);
    nest.pop_back();
    const auto init = before.find(&loop);
    return init == before.end() ? inner : seq({init->second, inner});
  });

  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    std::vector<const For*> loops;
    loops.swap(nest);
    Ptr<BlockRealize> inner = rewrite.children(realize);
    loops.swap(nest);
    const Block& block = *inner->block;
    if (!block.init) return inner;

    const auto first = std::find_if(nest.begin(), nest.end(), [&](const For* loop) {
      return is_reduction_loop(*inner, loop->loop_var);
    });
    const Stmt init = first == nest.end() ? Stmt() : decompose(*inner, {first, nest.end()});
    if (!init) return guard_init(*inner);
    before[*first] = init;
    BlockRealize copy = *inner;
    copy.block = without_init(block, block.body);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
