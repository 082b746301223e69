// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/init_apart.h"

#include <algorithm>

#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/replacement.h"

namespace loopsmith {
namespace {

/// True when `init` does what the init of `block` does, in terms of its own axes.
bool does_init_of(const Block& init, const Block& block) {
  Substitution axes;
  std::size_t next = 0;
  for (const auto& axis : block.iter_vars) {
    if (arith::is_reduction(*axis)) {
      axes[axis->var] = axis->dom->min;
    } else {
      if (axis->iter_type != IterType::data_par || next == init.iter_vars.size()) return false;
      axes[axis->var] = init.iter_vars[next++]->var;
    }
  }
  return next == init.iter_vars.size() && !init.init.defined() &&
         structural_equal(substitute(block.init, axes), init.body);
}

/// True when `update` is the block without its init.
bool does_the_rest(const Block& update, const Block& block) {
  return !update.init.defined() && update.body.same_as(block.body) &&
         std::ranges::equal(update.iter_vars, block.iter_vars, RefEqual());
}

/// An instance of the block that does the init, at these values of its axes.
Stmt init_at(const PartedBlock& parted, std::vector<Expr> values, Expr predicate) {
  return make(BlockRealize{
      .iter_values = std::move(values), .predicate = std::move(predicate), .block = parted.first});
}

/// What `init`, which starts reductions over nothing, does for the block alone.
Stmt of_block_alone(const Stmt& init, const arith::EmptyReductions& reductions, const Block& block,
                    const PartedBlock& parted) {
  Rewriter rewrite;
  rewrite.on<BlockRealize>([&](const BlockRealize& node) -> Stmt {
    if (reductions.started_by(*node.block).get() != &block) return no_statement();
    return init_at(parted, node.iter_values, node.predicate);
  });
  return rewrite(init);
}

}  // namespace

Stmt with_init_apart(const Schedule& before, const Schedule& after, NodeId scope,
                     const PartedBlock& parted) {
  const BlockRealize& realize = before.realize(parted.block);
  const Block& block = *realize.block;
  const Ptr<Block>& update = after.realize(parted.block).block;
  if (!block.init || !does_init_of(*parted.first, block) || !does_the_rest(*update, block)) {
    return {};
  }
  std::vector<Expr> values;
  Expr starts = realize.predicate;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    const Expr& value = realize.iter_values[i];
    if (arith::is_reduction(axis)) {
      starts = starts && cast(axis.var->dtype, value) == axis.dom->min;
    } else {
      values.push_back(value);
    }
  }
  BlockRealize rest = realize;
  rest.block = update;
  Stmt inside = make(SeqStmt{
      .seq = {init_at(parted, std::move(values), std::move(starts)), make(std::move(rest))}});

  // From the inside out, with what each loop has before it.
  std::vector<LoopRV> loops = loops_around(before, before.node(parted.block));
  arith::EmptyReductions empty;
  std::vector<Stmt> inits;
  for (const LoopRV loop : loops) inits.push_back(empty.before(before.get(loop)));
  const Object* place = &realize;
  for (std::size_t i = loops.size(); i-- > 0;) {
    if (!inits[i]) continue;
    const Stmt init = of_block_alone(inits[i], empty, block, parted);
    const Stmt& whole = before.statement(before.node(loops[i]));
    inside = make(SeqStmt{.seq = {init, with_replaced(whole, {{place, inside}})}});
    place = whole.get();
  }
  return with_replaced(body_of_scope(before, scope), {{place, inside}});
}

}  // namespace loopsmith
