// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/hoisted_inits.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/memory_reads.h"
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

/// True where the loops start at the start of each reduction axis, whatever those further out are
/// at. Where they start later, as parts of others do, an earlier one did the init.
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

Stmt HoistedInits::nest_of(const BlockRealize& realize, std::span<const For* const> loops,
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
    const bool reduces = reduction.contains(loop->loop_var.get());
    const bool is_once = !reduces && is_const_int(loop->extent, 1);
    const bool is_spatial = is_once || spatial.contains(loop->loop_var.get());
    if (is_spatial == reduces) return nullptr;
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
  if (!starts_reduction(realize, reductions)) return nullptr;

  const auto is_of_results = [&](const Expr& each) {
    return std::ranges::any_of(free_variables(each), [&](const Ptr<Var>& used) {
      return !dropped.contains(used.get()) && is_bound(*used);
    });
  };
  // A condition on reduction loops alone says where the reduction ends, not what is initialised; so
  // does one of these and others that the first iteration passes. Of others nobody can tell.
  Expr predicate = condition;
  for (const Expr& each : conjuncts(realize.predicate)) {
    if (!uses_any(each, dropped)) {
      predicate = predicate && each;
    } else if (is_of_results(each) && !holds_if_run(each, reductions)) {
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

Stmt HoistedInits::before(const For& loop) {
  if (!nested_.contains(&loop)) {
    outermost_.push_back(&loop);
    Path path;
    enter(loop, path);
  }
  const auto found = inits_.find(&loop);
  return found == inits_.end() ? Stmt() : found->second;
}

void HoistedInits::enter(const For& loop, Path& path) {
  path.push_back({.loop = &loop});
  follow(loop.body, path);
  path.pop_back();
}

void HoistedInits::follow(const Stmt& stmt, Path& path) {
  if (const auto* loop = stmt.as<For>()) {
    nested_.insert(loop);
    deep_call([&] { enter(*loop, path); });
  } else if (const auto* sequence = stmt.as<SeqStmt>()) {
    path.emplace_back();
    for (const Stmt& part : sequence->seq) follow(part, path);
    path.pop_back();
  } else if (const auto* branch = stmt.as<IfThenElse>()) {
    if (reads_memory(branch->condition)) return;
    path.push_back({.condition = branch->condition});
    deep_call([&] { follow(branch->then_case, path); });
    path.back().condition = !branch->condition;
    if (branch->else_case) deep_call([&] { follow(branch->else_case, path); });
    path.pop_back();
  } else if (const auto* realize = stmt.as<BlockRealize>()) {
    if (realize->block->init) add_init(*realize, path);
  }
}

void HoistedInits::add_init(const BlockRealize& realize, std::span<const Step> path) {
  const auto reduces = [&](const Step& step) {
    return step.loop && is_reduction_loop(realize, step.loop->loop_var);
  };
  const auto first = std::ranges::find_if(path, reduces);
  std::vector<const For*> loops, reductions;
  VarSet dropped;
  Expr is_empty = false;
  bool is_shared = false;  // With statements that may write what bounds read.
  for (auto step = first; step != path.end(); ++step) {
    is_shared = is_shared || step->is_sequence();
    if (!step->loop) continue;
    const Expr& extent = step->loop->extent;
    if (is_shared && (reads_memory(step->loop->min) || reads_memory(extent))) return;
    loops.push_back(step->loop);
    if (!reduces(*step)) continue;
    reductions.push_back(step->loop);
    dropped.insert(step->loop->loop_var.get());
    const std::int64_t* constant = as_int(extent);
    if (constant && *constant > 0) continue;
    is_empty = is_empty || extent <= int_imm(extent.dtype(), 0);
  }
  // Neither does a reduction start of which no iteration, or not the first, is to run.
  for (const Expr& each : conjuncts(realize.predicate)) {
    if (!uses_any(each, dropped) || holds_if_run(each, reductions)) continue;
    if (is_shared && reads_memory(each)) return;
    Substitution starts;
    for (const For* loop : reductions) starts[loop->loop_var] = loop->min;
    is_empty = is_empty || !substitute(each, starts);
  }
  if (is_const_int(is_empty, 0)) return;
  // Conditions among the loops are asked in each iteration: here, as the first one would ask.
  Expr condition = is_empty;
  for (auto step = first; step != path.end(); ++step) {
    if (!step->condition.defined()) continue;
    for (const Expr& each : conjuncts(step->condition)) {
      if (!uses_any(each, dropped)) {
        condition = condition && each;
      } else if (!holds_if_run(each, reductions)) {
        return;
      }
    }
  }
  if (const Stmt init = nest_of(realize, loops, condition)) {
    Stmt& all = inits_[first->loop];
    all = all ? seq({all, init}) : init;
  }
}

bool HoistedInits::is_bound(const Var& variable) {
  for (; looked_into_ < outermost_.size(); ++looked_into_) {
    pre_order_visit(Ref(outermost_[looked_into_]), [&](const Ref& ref) {
      if (const auto* loop = ref.as<For>()) bound_.insert(loop->loop_var.get());
      if (const auto* block = ref.as<Block>()) {
        for (const auto& axis : block->iter_vars) bound_.insert(axis->var.get());
      }
      return Stmt::from(ref).defined() || ref.is<Block>();
    });
  }
  return bound_.contains(&variable);
}

}  // namespace loopsmith::arith
