// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/reduction_start.h"

#include <algorithm>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

/// True when blocks inside of a block have an init.
bool reduces_inside(const Schedule& schedule, BlockRV outer) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(outer)), [&](BlockRV inner) {
    return schedule.get(inner).init || reduces_inside(schedule, inner);
  });
}

/// True when an axis of `type` of the block is bound to a value that uses the variable.
bool binds(const BlockRealize& realize, IterType type, const Ptr<Var>& variable) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.block->iter_vars[i]->iter_type == type &&
        uses_variable(realize.iter_values[i], variable)) {
      return true;
    }
  }
  return false;
}

/// Where the loops of a block's reduction start.
struct ReductionLoops {
  const Schedule& schedule;
  BlockRV block;
  Substitution starts = {};
  std::vector<const For*> others = {};  ///< Loops around that are not of the reduction.

  void find() {
    const BlockRealize& realize = schedule.realize(block);
    for (const LoopRV each : loops_around(schedule, schedule.node(block))) {
      const For& loop = schedule.get(each);
      if (binds(realize, IterType::comm_reduce, loop.loop_var)) {
        starts[loop.loop_var] = loop.min;
      } else {
        others.push_back(&loop);
      }
    }
  }

  bool reads_any(const Expr& expr) const {
    return std::ranges::any_of(free_variables(expr),
                               [&](const Ptr<Var>& used) { return starts.contains(used); });
  }

  /// True when the instance at all the starts comes first in any order of these loops.
  bool start_first() const {
    const BlockRealize& realize = schedule.realize(block);
    return std::ranges::all_of(loops_around(schedule, schedule.node(block)), [&](LoopRV each) {
      const For& loop = schedule.get(each);
      if (!starts.contains(loop.loop_var)) return true;
      const std::int64_t* step = as_int(loop.step);
      return step && *step > 0 && !reads_any(loop.min) &&
             !binds(realize, IterType::data_par, loop.loop_var);
    });
  }
};

/// True when an `if` stands between a loop and a block inside.
bool is_under_branch(const Schedule& schedule, BlockRV block, LoopRV loop) {
  NodeId node = schedule.node(block);
  while (node != schedule.node(loop) && !schedule.as<IfThenElse>(node)) {
    node = schedule.at(node).parent;
  }
  return node != schedule.node(loop);
}

/// A comparison without its one quotient: 0 <= x // c + rest is 0 <= x + rest * c.
Expr without_quotient(const Expr& condition) {
  const auto* less = condition.as<LT>();
  const auto* at_most = condition.as<LE>();
  if (!less && !at_most) return condition;
  const Expr distance = less ? less->b - less->a : at_most->b - at_most->a;
  auto form = IndexForms().read(distance);
  if (!form) return condition;
  const auto found = std::ranges::find_if(form->terms, [](const IndexTerm& term) {
    return term.kind == IndexTerm::Kind::quotient && term.coefficient == 1;
  });
  if (found == form->terms.end()) return condition;
  const IndexTerm quotient = std::move(*found);
  form->terms.erase(found);
  form->constant -= less ? 1 : 0;
  const DataType type = distance.dtype();
  return int_imm(type, 0) <=
         quotient.inner() + IndexForms().write(*form, type) * int_imm(type, quotient.by);
}

bool keeps_start(const Schedule& schedule, LoopRV loop, BlockRV block, const Expr& guard) {
  if (reduces_inside(schedule, block)) return false;
  const BlockRealize& realize = schedule.realize(block);
  if (!realize.block->init) return true;
  ReductionLoops loops{schedule, block};
  loops.find();
  if (!loops.reads_any(guard)) return true;
  if (!loops.start_first() || is_under_branch(schedule, block, loop)) return false;

  Analyzer analyzer;
  learn_sizes(schedule, schedule.function_of(schedule.node(block)), analyzer);
  for (const For* other : loops.others) {
    if (is_const_int(other->step, 1)) {
      analyzer.bind_range(other->loop_var, other->min, other->extent, true);
    }
  }
  Expr of_results = true, at_start = true;
  for (const Expr& each : arith::conjuncts(guard && realize.predicate)) {
    Expr& part = loops.reads_any(each) ? at_start : of_results;
    part = part && each;
  }
  const auto known = analyzer.constraint_scope(of_results);
  return std::ranges::all_of(
      arith::conjuncts(substitute(at_start, loops.starts)), [&](const Expr& each) {
        return analyzer.can_prove(each, ProofStrength::symbolic_bound) ||
               analyzer.can_prove(without_quotient(each), ProofStrength::symbolic_bound);
      });
}

}  // namespace

bool guard_keeps_starts(const Schedule& schedule, LoopRV loop, const Expr& guard) {
  return std::ranges::all_of(child_blocks(schedule, schedule.node(loop)), [&](BlockRV block) {
    return keeps_start(schedule, loop, block, guard);
  });
}

}  // namespace loopsmith
