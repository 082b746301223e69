// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_reduction_start.h"

#include <algorithm>
#include <ranges>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

class ReductionStart {
 public:
  explicit ReductionStart(const ThreadReduction& reduction)
      : reduction_(reduction), loops_(reduced_loops(reduction)) {
    for (const Ptr<For>& loop : loops_) variables_.push_back(loop->loop_var);
    for (const Ref& ref : reduction.around) {
      const auto* loop = ref.as<For>();
      const auto* let = ref.as<LetStmt>();
      const auto* realize = ref.as<BlockRealize>();
      if (loop) others_.push_back(loop->loop_var);
      if (let) others_.push_back(let->var);
      for (std::size_t i = 0; realize && i < realize->iter_values.size(); ++i) {
        others_.push_back(realize->block->iter_vars[i]->var);
      }
      if (!loop || !is_const_int(loop->step, 1)) continue;
      analyzer_.bind(loop->loop_var, make(Range{.min = loop->min, .extent = loop->extent}));
    }
  }

  std::optional<Expr> condition() {
    const BlockRealize& realize = *reduction_.realize;
    const bool is_known = find_least();
    Expr starts = true, has_terms = true;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const IterVar& axis = *realize.block->iter_vars[i];
      if (!arith::is_reduction(axis)) continue;
      const bool is_of_both = uses_any_of(realize.iter_values[i], others_);
      if (is_of_both && (!is_known || uses_any_of(axis.dom->min, variables_))) return {};
      const Expr is_least = at_start(realize.iter_values[i]) == axis.dom->min;
      const bool is_never = is_known && !is_of_both && analyzer_.can_prove(!is_least);
      if (is_of_both || is_never) starts = starts && is_least;
      has_terms = has_terms && axis.dom->extent > 0;
    }
    // Where there are none, the result is the init.
    const ConstraintScope terms = analyzer_.constraint_scope(has_terms);
    for (const Expr& condition : arith::conjuncts(realize.predicate)) {
      if (!uses_any_of(condition, variables_)) continue;
      const Expr holds = at_start(condition);
      if (analyzer_.can_prove(holds, ProofStrength::symbolic_bound)) continue;
      if (!is_known) return {};
      starts = starts && holds;
    }
    return Analyzer().simplify(starts);
  }

 private:
  /// Finds with which values of the loops the axes are least. False where one of these neither
  /// grows nor falls with a loop all the time, or two do otherwise.
  bool find_least() {
    const BlockRealize& realize = *reduction_.realize;
    for (const Ptr<For>& loop : loops_) least_[loop->loop_var] = loop->min;
    std::vector<Ptr<Var>> grow, fall;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (!arith::is_reduction(*realize.block->iter_vars[i])) continue;
      const Expr& value = realize.iter_values[i];
      for (const Ptr<For>& loop : loops_) {
        const Ptr<Var>& variable = loop->loop_var;
        if (!uses_variable(value, variable)) continue;
        const Expr next = substitute(value, {{variable, variable + int_imm(variable->dtype, 1)}});
        const Expr step = analyzer_.simplify(next - value), zero = zero_of(step.dtype());
        const bool grows = analyzer_.can_prove(step >= zero);
        if (!grows && !analyzer_.can_prove(step <= zero)) return false;
        (grows ? grow : fall).push_back(variable);
        if (!grows) least_[variable] = loop->min + (loop->extent - 1) * loop->step;
      }
    }
    return std::ranges::none_of(fall,
                                [&](const Ptr<Var>& each) { return uses_any_of(each, grow); });
  }

  /// What an expression is where the axes are least.
  Expr at_start(Expr expr) const {
    for (const Ptr<Var>& variable : variables_ | std::views::reverse) {
      expr = substitute(expr, {{variable, least_.at(variable)}});
    }
    return expr;
  }

  const ThreadReduction& reduction_;
  std::vector<Ptr<For>> loops_;
  std::vector<Ptr<Var>> variables_;  ///< Of the loops.
  std::vector<Ptr<Var>> others_;     ///< Defined around; sizes are the same for all.
  Substitution least_;
  Analyzer analyzer_;
};

}  // namespace

std::vector<Ptr<For>> reduced_loops(const ThreadReduction& reduction) {
  std::vector<Ptr<For>> loops = reduction.threads;
  pre_order_visit(reduction.threads[0], [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    const bool is_serial = loop && loop->kind != ForKind::thread_binding;
    if (is_serial && arith::is_reduction_loop(*reduction.realize, loop->loop_var)) {
      loops.emplace_back(loop);
    }
    return !is_expr(*ref.get());
  });
  return loops;
}

std::optional<Expr> start_condition(const ThreadReduction& reduction) {
  return ReductionStart(reduction).condition();
}

}  // namespace loopsmith
