// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/relax.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {
namespace {

std::optional<Interval> join(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (!a || !b) return {};
  return Interval{loopsmith::min(a->min, b->min), loopsmith::max(a->max, b->max)};
}

/// The values of integer expressions while some variables run through intervals.
class Relaxation {
 public:
  explicit Relaxation(const Intervals& ranges) : ranges_(ranges) {}

  /// An interval that has them all; none where none is known.
  std::optional<Interval> operator()(const Expr& expr) {
    return deep_call([&] { return values(expr); });
  }

 private:
  std::optional<Interval> values(const Expr& expr) {
    if (const auto found = ranges_.find(expr); found != ranges_.end()) return found->second;
    if (expr.is<Var>() || expr.is<IntImm>()) return only(expr);
    if (const auto* node = expr.as<Add>()) {
      return both(expr, *node, [](const Interval& a, const Interval& b) {
        return Interval{a.min + b.min, a.max + b.max};
      });
    }
    if (const auto* node = expr.as<Sub>()) {
      return both(expr, *node, [](const Interval& a, const Interval& b) {
        return Interval{a.min - b.max, a.max - b.min};
      });
    }
    if (const auto* node = expr.as<Min>()) {
      return both(expr, *node, [](const Interval& a, const Interval& b) {
        return Interval{loopsmith::min(a.min, b.min), loopsmith::min(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Max>()) {
      return both(expr, *node, [](const Interval& a, const Interval& b) {
        return Interval{loopsmith::max(a.min, b.min), loopsmith::max(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Mul>()) return product(expr, *node);
    if (const auto* node = expr.as<FloorDiv>()) return quotient(expr, *node, floordiv);
    if (const auto* node = expr.as<Div>()) return quotient(expr, *node, truncdiv);
    if (!uses_range(expr)) return only(expr);
    if (const auto* node = expr.as<FloorMod>()) return remainder(*node);
    if (const auto* node = expr.as<Select>()) {
      return join((*this)(node->true_value), (*this)(node->false_value));
    }
    if (const auto* node = expr.as<Call>(); node && node->op == op("if_then_else")) {
      return join((*this)(node->args[1]), (*this)(node->args[2]));
    }
    if (const auto* node = expr.as<Cast>(); node && node->dtype.is_index()) {
      const auto inside = (*this)(node->value);
      if (inside) return Interval{cast(node->dtype, inside->min), cast(node->dtype, inside->max)};
    }
    return {};
  }

  static Interval only(const Expr& expr) { return {expr, expr}; }
  /// True when no range is in `expr`, whose values these are.
  static bool is_only(const Interval& values, const Expr& expr) {
    return values.min.same_as(expr) && values.max.same_as(expr);
  }
  std::optional<Interval> only_without_range(const Expr& expr) const {
    return uses_range(expr) ? std::nullopt : std::optional(only(expr));
  }

  template <class Node, class Combine>
  std::optional<Interval> both(const Expr& expr, const Node& node, Combine combine) {
    const auto a = (*this)(node.a);
    const auto b = a ? (*this)(node.b) : std::nullopt;
    if (!a || !b) return {};
    return is_only(*a, node.a) && is_only(*b, node.b) ? only(expr) : combine(*a, *b);
  }

  std::optional<Interval> product(const Expr& expr, const Mul& node) {
    const bool constant_left = as_int(node.a) != nullptr;
    const Expr& factor = constant_left ? node.a : node.b;
    const Expr& rest = constant_left ? node.b : node.a;
    const std::int64_t* value = as_int(factor);
    if (!value) return only_without_range(expr);
    const auto other = (*this)(rest);
    if (!other) return {};
    if (is_only(*other, rest)) return only(expr);
    Interval scaled{other->min * factor, other->max * factor};
    if (*value < 0) std::swap(scaled.min, scaled.max);
    return scaled;
  }

  std::optional<Interval> quotient(const Expr& expr, const auto& node,
                                   Expr (*divide)(const Expr&, const Expr&)) {
    const std::int64_t* divisor = as_int(node.b);
    if (!divisor || *divisor <= 0) return only_without_range(expr);
    const auto dividend = (*this)(node.a);
    if (!dividend) return {};
    if (is_only(*dividend, node.a)) return only(expr);
    return Interval{divide(dividend->min, node.b), divide(dividend->max, node.b)};
  }

  std::optional<Interval> remainder(const FloorMod& node) {
    const std::int64_t* divisor = as_int(node.b);
    if (!divisor || *divisor <= 0) return {};
    return Interval{zero_of(node.dtype), node.b - int_imm(node.dtype, 1)};
  }

  bool uses_range(const Expr& expr) const {
    bool found = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      found = found || ranges_.contains(ref);
      return !found;
    });
    return found;
  }

  const Intervals& ranges_;
};

}  // namespace

std::optional<Interval> relax(const Expr& expr, const Intervals& ranges) {
  return Relaxation(ranges)(expr);
}

}  // namespace loopsmith::arith
