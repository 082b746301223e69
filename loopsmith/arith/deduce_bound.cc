// SPDX-License-Identifier: Apache-2.0
// Undoes, one operation after the other, what stands between the variable and the comparison.
#include "loopsmith/arith/deduce_bound.h"

#include <functional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// How often `var` occurs; stops counting at 2.
int occurrences(const Expr& expr, const Ptr<Var>& var) {
  if (expr.same_as(var)) return 1;
  int count = 0;
  for_each_child(*expr.get(), [&](const Ref& child, Role) {
    if (count > 1) return;
    const Expr operand = Expr::from(child);
    if (operand.defined()) count += deep_call([&] { return occurrences(operand, var); });
  });
  return count;
}

/// What the expression on the way to the variable must be: at least, and at most.
struct Limits {
  Expr min;
  Expr max;
};

class Deduction {
 public:
  Deduction(const Ptr<Var>& var, const Domains& hints, const Domains& relaxed)
      : var_(var), relaxed_(relaxed) {
    for (const auto& [hinted, set] : hints) bind(hinted, set);
    for (const auto& [free, set] : relaxed) bind(free, set);
  }

  IntSet solve(Expr condition) {
    if (const auto* call = condition.as<Call>(); call && call->op == op("likely")) {
      condition = call->args[0];
    }
    if (const auto* n = condition.as<LT>()) return compare(n->a, n->b, {}, less_one(n->b));
    if (const auto* n = condition.as<LE>()) return compare(n->a, n->b, {}, n->b);
    if (const auto* n = condition.as<GT>()) return compare(n->a, n->b, more_one(n->b), {});
    if (const auto* n = condition.as<GE>()) return compare(n->a, n->b, n->b, {});
    if (const auto* n = condition.as<EQ>()) return compare(n->a, n->b, n->b, n->b);
    return IntSet::nothing();
  }

 private:
  static Expr one(const Expr& like) { return const_of(like.dtype(), 1); }
  static Expr less_one(const Expr& e) { return e.dtype().is_index() ? e - one(e) : Expr(); }
  static Expr more_one(const Expr& e) { return e.dtype().is_index() ? e + one(e) : Expr(); }

  void bind(const Ref& ref, const IntSet& set) {
    const auto var = Ptr<Var>::from(ref);
    if (!var.defined() || set.is_nothing()) return;
    ConstIntBound bound;
    if (set.has_lower_bound())
      bound.min_value = analyzer_.const_int_bound(set.min_value()).min_value;
    if (set.has_upper_bound())
      bound.max_value = analyzer_.const_int_bound(set.max_value()).max_value;
    analyzer_.update(var, bound);
  }

  /// `a` lies within the limits, which are in terms of `b`; the variable may be on either side.
  IntSet compare(const Expr& a, const Expr& b, const Expr& low, const Expr& high) {
    if (!a.dtype().is_index()) return IntSet::nothing();
    const int on_left = occurrences(a, var_);
    const int on_right = occurrences(b, var_);
    if (on_left + on_right != 1) return IntSet::nothing();
    if (on_left == 1) return descend(a, {lowest(low), highest(high)});
    // Turned round: what bounded `a` from above bounds `b` from below.
    const Expr offset = low.defined() ? low - b : high - b;
    const Expr value = analyzer_.simplify(a - offset);
    return descend(
        b, {high.defined() ? lowest(value) : Expr(), low.defined() ? highest(value) : Expr()});
  }

  /// The limit that serves for all values of the relaxed variables.
  Expr lowest(const Expr& end) {
    if (!end.defined()) return end;
    const IntSet set = evaluate_set(end, relaxed_, analyzer_);
    failed_ |= !set.has_upper_bound();
    return set.max_value();
  }
  Expr highest(const Expr& end) {
    if (!end.defined()) return end;
    const IntSet set = evaluate_set(end, relaxed_, analyzer_);
    failed_ |= !set.has_lower_bound();
    return set.min_value();
  }

  IntSet descend(Expr target, Limits limits) {
    while (!failed_ && !target.same_as(var_)) {
      if (const auto* n = target.as<Add>()) {
        const bool in_a = occurrences(n->a, var_) == 1;
        const Expr other = in_a ? n->b : n->a;
        limits = {minus(limits.min, other, false), minus(limits.max, other, true)};
        target = in_a ? Expr(n->a) : Expr(n->b);
      } else if (const auto* n = target.as<Sub>()) {
        if (occurrences(n->a, var_) == 1) {
          limits = {plus(limits.min, n->b, false), plus(limits.max, n->b, true)};
          target = Expr(n->a);
        } else {
          // low <= a - t <= high is a - high <= t <= a - low.
          limits = {from(n->a, limits.max, false), from(n->a, limits.min, true)};
          target = Expr(n->b);
        }
      } else if (const auto* n = target.as<Mul>()) {
        const bool in_a = occurrences(n->a, var_) == 1;
        limits = divided(limits, in_a ? n->b : n->a);
        target = in_a ? Expr(n->a) : Expr(n->b);
      } else if (const auto* n = target.as<FloorDiv>(); n && occurrences(n->a, var_) == 1) {
        limits = times(limits, n->b);
        target = Expr(n->a);
      } else {
        failed_ = true;
      }
    }
    if (failed_) return IntSet::nothing();
    const auto simple = [&](const Expr& e) { return e.defined() ? analyzer_.simplify(e) : e; };
    const Expr low = simple(limits.min);
    const Expr high = simple(limits.max);
    if (low.defined() && high.defined() && analyzer_.can_prove(high < low))
      return IntSet::nothing();
    return {low, high};
  }

  Expr limit(const Expr& end, bool is_upper) { return is_upper ? highest(end) : lowest(end); }
  Expr minus(const Expr& end, const Expr& other, bool is_upper) {
    return end.defined() ? limit(end - other, is_upper) : end;
  }
  Expr plus(const Expr& end, const Expr& other, bool is_upper) {
    return end.defined() ? limit(end + other, is_upper) : end;
  }
  Expr from(const Expr& start, const Expr& end, bool is_upper) {
    return end.defined() ? limit(start - end, is_upper) : end;
  }

  /// low <= t * factor <= high as limits of t.
  Limits divided(Limits limits, Expr factor) {
    if (mentions_relaxed(factor)) return fail();
    if (analyzer_.can_prove_less(factor, 0)) {
      factor = -factor;
      limits = {limits.max.defined() ? -limits.max : limits.max,
                limits.min.defined() ? -limits.min : limits.min};
    } else if (!analyzer_.can_prove_greater_equal(factor, 1)) {
      return fail();
    }
    const bool is_equality = limits.min.defined() && limits.max.defined();
    if (is_equality &&
        !analyzer_.can_prove_equal(floormod(limits.min, factor), zero_of(factor.dtype()))) {
      // Both ends are the same value, which is no multiple, or not known to be one.
      if (analyzer_.can_prove_equal(limits.min, limits.max)) return fail();
    }
    return {limits.min.defined() ? ceildiv(limits.min, factor) : limits.min,
            limits.max.defined() ? floordiv(limits.max, factor) : limits.max};
  }

  /// low <= floordiv(t, divisor) <= high as limits of t.
  Limits times(const Limits& limits, const Expr& divisor) {
    if (mentions_relaxed(divisor) || !analyzer_.can_prove_greater_equal(divisor, 1)) return fail();
    return {
        limits.min.defined() ? limits.min * divisor : limits.min,
        limits.max.defined() ? (limits.max + one(divisor)) * divisor - one(divisor) : limits.max};
  }

  bool mentions_relaxed(const Expr& expr) const {
    for (const auto& [var, set] : relaxed_) {
      if (uses_variable(expr, Ptr<Var>::from(var))) return true;
    }
    return false;
  }

  Limits fail() {
    failed_ = true;
    return {};
  }

  const Ptr<Var>& var_;
  const Domains& relaxed_;
  Analyzer analyzer_;
  bool failed_ = false;
};

}  // namespace

IntSet deduce_bound(const Ptr<Var>& var, const Expr& condition, const Domains& hints,
                    const Domains& relaxed) {
  return Deduction(var, hints, relaxed).solve(condition);
}

}  // namespace loopsmith
