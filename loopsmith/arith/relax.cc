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
    if (!uses_range(expr)) return Interval{expr, expr};
    if (const auto* node = expr.as<Add>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{a.min + b.min, a.max + b.max};
      });
    }
    if (const auto* node = expr.as<Sub>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{a.min - b.max, a.max - b.min};
      });
    }
    if (const auto* node = expr.as<Min>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{loopsmith::min(a.min, b.min), loopsmith::min(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Max>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{loopsmith::max(a.min, b.min), loopsmith::max(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Mul>()) return product(*node);
    if (const auto* node = expr.as<FloorDiv>()) return quotient(*node, floordiv);
    if (const auto* node = expr.as<Div>()) return quotient(*node, truncdiv);
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

  template <class Node, class Combine>
  std::optional<Interval> both(const Node& node, Combine combine) {
    const auto a = (*this)(node.a);
    const auto b = (*this)(node.b);
    return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
  }

  std::optional<Interval> product(const Mul& node) {
    const bool constant_left = as_int(node.a) != nullptr;
    const Expr& factor = constant_left ? node.a : node.b;
    const auto other = (*this)(constant_left ? node.b : node.a);
    const std::int64_t* value = as_int(factor);
    if (!value || !other) return {};
    Interval scaled{other->min * factor, other->max * factor};
    if (*value < 0) std::swap(scaled.min, scaled.max);
    return scaled;
  }

  std::optional<Interval> quotient(const auto& node, Expr (*divide)(const Expr&, const Expr&)) {
    const auto dividend = (*this)(node.a);
    const std::int64_t* divisor = as_int(node.b);
    if (!dividend || !divisor || *divisor <= 0) return {};
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
