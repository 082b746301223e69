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

/// A block that does the init of `realize` at its spatial axes, where `predicate` holds. To the
/// init, reduction axes are where they start.
Stmt init_block(const BlockRealize& realize, Expr predicate) {
  const Block& block = *realize.block;
  Block init{.writes = block.writes, .name_hint = block.name_hint + "_init", .body = block.init};
  BlockRealize result{.predicate = std::move(predicate)};
  Substitution starts;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (is_reduction(axis)) {
      starts[axis.var] = axis.dom->min;
    } else {
      init.iter_vars.push_back(block.iter_vars[i]);
      result.iter_values.push_back(realize.iter_values[i]);
    }
  }
  result.block = make(std::move(init));
  return substitute(make(std::move(result)), starts);
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

/// True when a loop of the extent does not run. How often a loop over parts of another runs tells
/// of the other: (n + d - 1) // d parts are none where the n elements that they cover are none.
bool is_none(Analyzer& analyzer, const Expr& extent) {
  if (analyzer.can_prove(extent <= int_imm(extent.dtype(), 0))) return true;
  bool found = false;
  pre_order_visit(extent, [&](const Ref& ref) {
    const auto* quotient = found ? nullptr : ref.as<FloorDiv>();
    const std::int64_t* divisor = quotient ? as_int(quotient->b) : nullptr;
    if (divisor && *divisor > 0) {
      const Expr& size = quotient->b;
      const Expr others = extent - Expr(Ptr<FloorDiv>::from(ref));
      found = analyzer.can_prove(others * size + quotient->a < size);
    }
    return !found;
  });
  return found;
}

}  // namespace

bool holds_if_run(const Expr& condition, std::span<const For* const> loops) {
  Substitution starts;
  for (const For* loop : loops) starts[loop->loop_var] = loop->min;
  Analyzer analyzer;
  const Expr first = analyzer.simplify(substitute(condition, starts));
  const ConstraintScope fails = analyzer.constraint_scope(!first);
  return std::ranges::any_of(loops,
                             [&](const For* loop) { return is_none(analyzer, loop->extent); });
}

bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var) {
  bool drives = false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    if (!is_reduction(*realize.block->iter_vars[i])) {
      if (value.same_as(loop_var)) return false;
    } else {
      drives = drives || uses_variable(value, loop_var);
    }
  }
  return drives;
}

Stmt initial_nest(const BlockRealize& realize, std::span<const For* const> loops,
                  const Expr& condition) {
  VarSet spatial, reduction;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool reduces = is_reduction(*realize.block->iter_vars[i]);
    for (const auto& used : free_variables(realize.iter_values[i])) {
      if (!reduces) spatial.insert(used.get());
      if (reduces && is_reduction_loop(realize, used)) reduction.insert(used.get());
    }
  }

  std::vector<const For*> copied, reductions;
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
      reductions.push_back(loop);
      dropped.insert(loop->loop_var.get());
    }
  }
  // A loop further out that drives the reduction would start it again and again.
  for (const Object* driver : reduction) {
    if (!dropped.contains(driver)) return nullptr;
  }
  if (!starts_reduction(realize, reductions)) return nullptr;

  // A condition on reduction loops alone says where the reduction ends, not what is initialised; so
  // does one of these and others that the first iteration passes.
  Expr predicate = condition;
  for (const Expr& each : conjuncts(realize.predicate)) {
    if (!uses_any(each, dropped)) {
      predicate = predicate && each;
    } else if (uses_any(each, spatial) && !holds_if_run(each, reductions)) {
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

Stmt EmptyReductions::before(const For& loop) {
  if (!nested_.contains(&loop)) find(loop);
  const auto found = inits_.find(&loop);
  return found == inits_.end() ? Stmt() : found->second;
}

/// `outermost` is the first of loops with nothing but each other between them.
void EmptyReductions::find(const For& outermost) {
  std::vector<const For*> loops{&outermost};
  while (const auto* inner = loops.back()->body.as<For>()) loops.push_back(inner);
  nested_.insert(loops.begin() + 1, loops.end());
  const auto* realize = loops.back()->body.as<BlockRealize>();
  if (!realize || !realize->block->init) return;
  const auto reduces = [&](const For* loop) { return is_reduction_loop(*realize, loop->loop_var); };
  const auto first = std::ranges::find_if(loops, reduces);
  Expr is_empty = false;
  for (auto loop = first; loop != loops.end(); ++loop) {
    const Expr& extent = (*loop)->extent;
    const std::int64_t* constant = as_int(extent);
    if ((constant && *constant > 0) || !reduces(*loop)) continue;
    is_empty = is_empty || extent <= int_imm(extent.dtype(), 0);
  }
  if (is_const_int(is_empty, 0)) return;
  if (const Stmt init = initial_nest(*realize, {first, loops.end()}, is_empty)) {
    inits_.emplace(*first, init);
  }
}

}  // namespace loopsmith::arith
