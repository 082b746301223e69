// SPDX-License-Identifier: Apache-2.0
// Interval arithmetic with symbolic ends.
#include "loopsmith/arith/int_set.h"

#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// `fold(a, b)`, or null where either end is open.
Expr both(const Expr& a, const Expr& b, Expr (*fold)(const Expr&, const Expr&)) {
  return a.defined() && b.defined() ? fold(a, b) : Expr();
}

Expr minimum(const Expr& a, const Expr& b) {
  return min(a, b);
}
Expr maximum(const Expr& a, const Expr& b) {
  return max(a, b);
}

/// A division of points; by a constant 0, of which nothing is known, it stays open.
template <Expr (*divide)(const Expr&, const Expr&)>
Expr quotient(const Expr& a, const Expr& b) {
  return is_const_int(b, 0) ? Expr() : divide(a, b);
}

IntSet sum(const IntSet& a, const IntSet& b) {
  return {both(a.min_value(), b.min_value(), operator+),
          both(a.max_value(), b.max_value(), operator+)};
}

class Evaluation {
 public:
  Evaluation(const Domains& domains, Analyzer& analyzer) : domains_(domains), analyzer_(analyzer) {}

  IntSet operator()(const Expr& expr) {
    if (as_int(expr)) return IntSet::single_point(expr);
    if (const auto found = done_.find(expr); found != done_.end()) return found->second;
    IntSet result = deep_call([&] { return evaluate(expr); });
    done_.emplace(expr, result);
    return result;
  }

 private:
  IntSet evaluate(const Expr& expr) {
    if (expr.is<Var>()) return variable(expr);
    if (const auto* node = expr.as<Add>()) {
      return of_operands(expr, *node, operator+,
                         [](const IntSet& a, const IntSet& b) { return sum(a, b); });
    }
    if (const auto* node = expr.as<Sub>()) {
      return of_operands(expr, *node, operator-, [](const IntSet& a, const IntSet& b) {
        return IntSet{both(a.min_value(), b.max_value(), operator-),
                      both(a.max_value(), b.min_value(), operator-)};
      });
    }
    if (const auto* node = expr.as<Mul>()) {
      return of_operands(expr, *node, operator*, [&](const IntSet& a, const IntSet& b) {
        return b.is_single_point()   ? scaled(a, b.min_value())
               : a.is_single_point() ? scaled(b, a.min_value())
                                     : product(a, b);
      });
    }
    if (const auto* node = expr.as<FloorDiv>()) {
      return of_operands(expr, *node, quotient<floordiv>,
                         [&](const IntSet& a, const IntSet& b) { return divided(a, b, floordiv); });
    }
    if (const auto* node = expr.as<Div>()) {
      return of_operands(expr, *node, quotient<truncdiv>,
                         [&](const IntSet& a, const IntSet& b) { return divided(a, b, truncdiv); });
    }
    if (const auto* node = expr.as<FloorMod>()) {
      return of_operands(expr, *node, quotient<floormod>,
                         [&](const IntSet& a, const IntSet& b) { return reduced(a, b); });
    }
    if (const auto* node = expr.as<Mod>()) {
      return of_operands(expr, *node, quotient<truncmod>,
                         [&](const IntSet& a, const IntSet& b) { return trunc_reduced(a, b); });
    }
    if (const auto* node = expr.as<Min>()) {
      return of_operands(expr, *node, minimum, [](const IntSet& a, const IntSet& b) {
        // One open lower end opens that of the result; one upper end bounds it.
        return IntSet{both(a.min_value(), b.min_value(), minimum),
                      a.has_upper_bound() && b.has_upper_bound() ? min(a.max_value(), b.max_value())
                      : a.has_upper_bound()                      ? a.max_value()
                                                                 : b.max_value()};
      });
    }
    if (const auto* node = expr.as<Max>()) {
      return of_operands(expr, *node, maximum, [](const IntSet& a, const IntSet& b) {
        return IntSet{a.has_lower_bound() && b.has_lower_bound() ? max(a.min_value(), b.min_value())
                      : a.has_lower_bound()                      ? a.min_value()
                                                                 : b.min_value(),
                      both(a.max_value(), b.max_value(), maximum)};
      });
    }
    if (const auto* node = expr.as<Select>()) {
      return choice(expr, node->condition, node->true_value, node->false_value);
    }
    if (const auto* node = expr.as<Cast>()) return converted(expr, *node);
    if (const auto* node = expr.as<Broadcast>()) return (*this)(node->value);
    if (const auto* node = expr.as<Ramp>()) {
      const DataType type = node->base.dtype();
      const Expr last = node->dtype.is_scalable() ? Expr() : int_imm(type, node->lanes - 1);
      const IntSet steps = scaled({zero_of(type), last}, node->stride);
      return sum((*this)(node->base), (*this)(node->stride).is_single_point() ? steps : IntSet());
    }
    if (const auto* node = expr.as<Call>()) {
      if (node->op == op("likely")) return (*this)(node->args[0]);
      if (node->op == op("if_then_else")) {
        return choice(expr, node->args[0], node->args[1], node->args[2]);
      }
    }
    return opaque(expr);
  }

  /// The domain of a variable; its ends may mention variables that have one.
  IntSet variable(const Expr& variable) {
    const auto found = domains_.find(variable);
    if (found == domains_.end() || !entered_.insert(variable.get()).second) {
      return IntSet::single_point(variable);
    }
    const IntSet& domain = found->second;
    IntSet result = domain;
    if (!domain.is_nothing()) {
      const Expr low = domain.has_lower_bound() ? (*this)(domain.min_value()).min_value() : Expr();
      const Expr high = domain.has_upper_bound() ? (*this)(domain.max_value()).max_value() : Expr();
      result = domain.is_single_point() && low.same_as(high) ? IntSet::single_point(low)
                                                             : IntSet(low, high);
    }
    entered_.erase(variable.get());
    return result;
  }

  template <class Node, class Combine>
  IntSet of_operands(const Expr& expr, const Node& node, Expr (*rebuild)(const Expr&, const Expr&),
                     Combine combine) {
    const IntSet a = (*this)(node.a);
    const IntSet b = (*this)(node.b);
    if (a.is_nothing() || b.is_nothing()) return IntSet::nothing();
    // What no variable of the domains reaches stays as it was written.
    if (is_itself(a, node.a) && is_itself(b, node.b)) return IntSet::single_point(expr);
    if (a.is_single_point() && b.is_single_point()) {
      const Expr value = rebuild(a.min_value(), b.min_value());
      return value.defined() ? IntSet::single_point(value) : IntSet();
    }
    return combine(a, b);
  }

  static bool is_itself(const IntSet& set, const Expr& expr) {
    return set.is_single_point() && set.min_value().same_as(expr);
  }

  IntSet scaled(const IntSet& set, const Expr& factor) {
    const auto times = [&](const Expr& end) { return end.defined() ? end * factor : Expr(); };
    if (set.is_single_point()) return IntSet::single_point(times(set.min_value()));
    if (analyzer_.can_prove_greater_equal(factor, 0)) {
      return {times(set.min_value()), times(set.max_value())};
    }
    if (analyzer_.can_prove_less(factor, 1)) {
      return {times(set.max_value()), times(set.min_value())};
    }
    return {};
  }

  /// Of two intervals, where both are known not to be negative.
  IntSet product(const IntSet& a, const IntSet& b) {
    const auto is_positive = [&](const IntSet& set) {
      return set.has_lower_bound() && analyzer_.can_prove_greater_equal(set.min_value(), 0);
    };
    if (!is_positive(a) || !is_positive(b)) return {};
    return {a.min_value() * b.min_value(), both(a.max_value(), b.max_value(), operator*)};
  }

  IntSet divided(const IntSet& a, const IntSet& b, Expr (*divide)(const Expr&, const Expr&)) {
    if (!b.is_single_point() || is_const_int(b.min_value(), 0)) return {};
    const Expr& divisor = b.min_value();
    const auto end = [&](const Expr& e) { return e.defined() ? divide(e, divisor) : Expr(); };
    if (analyzer_.can_prove_greater_equal(divisor, 0))
      return {end(a.min_value()), end(a.max_value())};
    if (analyzer_.can_prove_less(divisor, 0)) return {end(a.max_value()), end(a.min_value())};
    return {};
  }

  IntSet reduced(const IntSet& a, const IntSet& b) {
    if (!b.is_single_point() || is_const_int(b.min_value(), 0)) return {};
    const Expr& divisor = b.min_value();
    if (!analyzer_.can_prove_greater_equal(divisor, 1)) return {};
    const Expr last = divisor - const_of(divisor.dtype(), 1);
    if (a.has_lower_bound() && a.has_upper_bound() && as_int(divisor) &&
        analyzer_.can_prove_equal(floordiv(a.min_value(), divisor),
                                  floordiv(a.max_value(), divisor))) {
      return {floormod(a.min_value(), divisor), floormod(a.max_value(), divisor)};
    }
    return {zero_of(divisor.dtype()), last};
  }

  IntSet trunc_reduced(const IntSet& a, const IntSet& b) {
    IntSet floor = reduced(a, b);
    if (!floor.has_upper_bound()) return {};
    if (a.has_lower_bound() && analyzer_.can_prove_greater_equal(a.min_value(), 0)) return floor;
    const Expr last = b.min_value() - const_of(b.min_value().dtype(), 1);
    return {-last, last};
  }

  IntSet choice(const Expr& expr, const Expr& condition, const Expr& yes, const Expr& no) {
    const IntSet a = (*this)(yes);
    const IntSet b = (*this)(no);
    const bool is_fixed =
        is_itself(a, yes) && is_itself(b, no) && is_itself((*this)(condition), condition);
    return is_fixed ? IntSet::single_point(expr) : unite(a, b);
  }

  IntSet converted(const Expr& expr, const Cast& cast) {
    const IntSet inside = (*this)(cast.value);
    if (is_itself(inside, cast.value)) return IntSet::single_point(expr);
    if (!cast.value.dtype().is_integer() || !cast.dtype.is_integer()) return {};
    // Ends convert where no value wraps.
    const auto fits = [&](const Expr& end) {
      const ConstIntBound bound = analyzer_.const_int_bound(end);
      const ConstIntBound all = arith::all_of(cast.dtype);
      return all.min_value <= bound.min_value && bound.max_value <= all.max_value;
    };
    if (!inside.has_lower_bound() || !inside.has_upper_bound()) return {};
    if (!fits(inside.min_value()) || !fits(inside.max_value())) return {};
    return {loopsmith::cast(cast.dtype, inside.min_value()),
            loopsmith::cast(cast.dtype, inside.max_value())};
  }

  /// A point where nothing inside runs; otherwise what its type and constant bounds say.
  IntSet opaque(const Expr& expr) {
    if (const auto* condition = expr.as<Not>()) {
      if (is_itself((*this)(condition->a), condition->a)) return IntSet::single_point(expr);
    } else {
      bool is_fixed = true;
      for_each_operand(expr, [&](const Expr& operand) {
        is_fixed = is_fixed && is_itself((*this)(operand), operand);
      });
      if (is_fixed) return IntSet::single_point(expr);
    }
    if (!expr.dtype().is_integer()) return {};
    const ConstIntBound bound = analyzer_.const_int_bound(expr);
    const DataType type = expr.dtype().element();
    const bool is_type = bound == arith::all_of(type) && !type.is_bool();
    const auto end = [&](std::int64_t value, std::int64_t infinite) {
      const bool is_known = value != infinite && !is_type && arith::all_of(type).contains(value);
      return is_known ? int_imm(type, value) : Expr();
    };
    return {end(bound.min_value, ConstIntBound::neg_inf),
            end(bound.max_value, ConstIntBound::pos_inf)};
  }

  template <class Visit>
  static void for_each_operand(const Expr& expr, Visit visit) {
    for (const FieldInfo& field : node_info(*expr.get()).children) {
      const auto visit_operand = [&](const Ref& ref) {
        if (const Expr operand = Expr::from(ref); operand.defined()) visit(operand);
      };
      if (field.type == FieldType::ref) visit_operand(field.ref(*expr.get()));
      if (field.type == FieldType::refs) {
        for (const Ref& ref : field.refs(*expr.get())) visit_operand(ref);
      }
    }
  }

  const Domains& domains_;
  Analyzer& analyzer_;
  std::unordered_map<Ref, IntSet, RefHash, RefEqual> done_;
  std::unordered_set<const Object*> entered_;
};

}  // namespace

IntSet IntSet::nothing() {
  IntSet result;
  result.is_nothing_ = true;
  return result;
}

IntSet IntSet::from_range(const Ptr<Range>& range) {
  if (is_const_int(range->extent, 1)) return single_point(range->min);
  return {range->min, range->min + range->extent - const_of(range->extent.dtype(), 1)};
}

IntSet unite(const IntSet& a, const IntSet& b) {
  if (a.is_nothing()) return b;
  if (b.is_nothing()) return a;
  return {both(a.min_value(), b.min_value(), minimum), both(a.max_value(), b.max_value(), maximum)};
}

IntSet intersect(const IntSet& a, const IntSet& b) {
  if (a.is_nothing() || b.is_nothing()) return IntSet::nothing();
  const auto inner = [](const Expr& x, const Expr& y, Expr (*fold)(const Expr&, const Expr&)) {
    if (!x.defined()) return y;
    return y.defined() ? fold(x, y) : x;
  };
  const Expr low = inner(a.min_value(), b.min_value(), maximum);
  const Expr high = inner(a.max_value(), b.max_value(), minimum);
  const std::int64_t* first = low.defined() ? as_int(low) : nullptr;
  const std::int64_t* last = high.defined() ? as_int(high) : nullptr;
  return first && last && *first > *last ? IntSet::nothing() : IntSet(low, high);
}

IntSet evaluate_set(const Expr& expr, const Domains& domains, Analyzer& analyzer) {
  IntSet set = Evaluation(domains, analyzer)(expr);
  if (set.is_nothing()) return set;
  const auto simple = [&](const Expr& end) { return end.defined() ? analyzer.simplify(end) : end; };
  if (set.is_single_point()) return IntSet::single_point(simple(set.min_value()));
  return {simple(set.min_value()), simple(set.max_value())};
}

}  // namespace loopsmith
