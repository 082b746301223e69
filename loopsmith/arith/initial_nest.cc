// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/initial_nest.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {
namespace {

using VarSet = std::unordered_set<const Object*>;

bool uses_any(const Ref& root, const VarSet& variables) {
  return std::ranges::any_of(free_variables(root),
                             [&](const Ptr<Var>& used) { return variables.contains(used.get()); });
}

bool is_reduction(const IterVar& axis) {
  return axis.iter_type == IterType::comm_reduce;
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

/// True where the loops start at the start of each reduction axis. Where they start later, as parts
/// of others do, an earlier one did the init.
bool starts_reduction(const BlockRealize& realize, std::span<const For* const> loops) {
  Substitution starts;
  for (const For* loop : loops) starts[loop->loop_var] = loop->min;
  Analyzer analyzer;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    const Expr start = substitute(realize.iter_values[i], starts);
    if (is_reduction(axis) && !analyzer.can_prove_equal(start, axis.dom->min)) return false;
  }
  return true;
}

}  // namespace

bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (is_reduction(*realize.block->iter_vars[i]) &&
        uses_variable(realize.iter_values[i], loop_var)) {
      return true;
    }
  }
  return false;
}

Stmt initial_nest(const BlockRealize& realize, std::span<const For* const> loops,
                  const Expr& condition) {
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
  if (!starts_reduction(realize, loops)) return nullptr;

  // A condition on reduction loops alone says where the reduction ends, not what is initialised.
  Expr predicate = condition;
  for (const Expr& each : conjuncts(realize.predicate)) {
    if (!uses_any(each, dropped)) {
      predicate = predicate && each;
    } else if (uses_any(each, spatial)) {
      return nullptr;
    }
  }

  Stmt init = init_block(realize, predicate);
  for (std::size_t i = copied.size(); i-- > 0;) {
    For loop = *copied[i];
    loop.body = std::move(init);
    init = make(std::move(loop));
  }
  return clone_with(init, {});
}

}  // namespace loopsmith::arith
