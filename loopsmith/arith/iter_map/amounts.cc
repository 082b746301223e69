// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/iter_map/amounts.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {

Amount::Amount(const Expr& expr) {
  if (const std::int64_t* value = as_int(expr)) {
    constant = *value;
  } else {
    symbolic = expr;
  }
}

Expr Amount::expr(DataType dtype) const {
  return is_constant() ? int_imm(dtype, constant) : cast(dtype, symbolic);
}

namespace arith {
namespace {

constexpr NoIterMap too_large{"Numbers leave 64 bits."};

/// The type in which two amounts meet, at least one of which is symbolic.
DataType type_of(const Amount& a, const Amount& b) {
  if (a.is_constant()) return b.symbolic.dtype();
  if (b.is_constant()) return a.symbolic.dtype();
  const DataType x = a.symbolic.dtype();
  const DataType y = b.symbolic.dtype();
  return x.bits < y.bits ? y : x;
}

/// As an expression of that type.
Expr in_type(const Amount& a, DataType type) {
  if (a.is_constant() && wrap_to(type, a.constant) != a.constant) throw too_large;
  return a.expr(type);
}

}  // namespace

template <class Combine>
Amount Amounts::symbolic(const Amount& a, const Amount& b, Combine combine) {
  const DataType type = type_of(a, b);
  return Amount(analyzer_.simplify(combine(in_type(a, type), in_type(b, type))));
}

Amount Amounts::add(const Amount& a, const Amount& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (!a.is_constant() || !b.is_constant()) {
    return symbolic(a, b, [](const Expr& x, const Expr& y) { return x + y; });
  }
  std::int64_t result = 0;
  if (__builtin_add_overflow(a.constant, b.constant, &result)) throw too_large;
  return result;
}

Amount Amounts::subtract(const Amount& a, const Amount& b) {
  return add(a, multiply(b, -1));
}

Amount Amounts::multiply(const Amount& a, const Amount& b) {
  if (a.is(0) || b.is(0)) return 0;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (!a.is_constant() || !b.is_constant()) {
    return symbolic(a, b, [](const Expr& x, const Expr& y) { return x * y; });
  }
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a.constant, b.constant, &result)) throw too_large;
  return result;
}

std::optional<Amount> Amounts::quotient(const Amount& a, const Amount& b) {
  if (b.is(1) || a.is(0)) return a;
  if (b.is(0)) return {};
  if (a.is_constant() && b.is_constant()) {
    // The least number has no opposite.
    if (b.is(-1)) return multiply(a, -1);
    return a.constant % b.constant == 0 ? std::optional(Amount(a.constant / b.constant))
                                        : std::nullopt;
  }
  const Amount result = floor_quotient(a, b);
  return equal(multiply(result, b), a) ? std::optional(result) : std::nullopt;
}

Amount Amounts::floor_quotient(const Amount& a, const Amount& b) {
  if (b.is(1)) return a;
  if (a.is_constant() && b.is_constant()) {
    if (b.constant <= 0) throw NoIterMap{"A divisor is not positive."};
    return arith::floor_quotient(a.constant, b.constant);
  }
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return floordiv(x, y); });
}

Amount Amounts::floor_remainder(const Amount& a, const Amount& b) {
  if (b.is(1)) return 0;
  if (a.is_constant() && b.is_constant()) {
    if (b.constant <= 0) throw NoIterMap{"A divisor is not positive."};
    return arith::floor_remainder(a.constant, b.constant);
  }
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return floormod(x, y); });
}

Amount Amounts::ceil_quotient(const Amount& a, const Amount& b) {
  return floor_quotient(add(a, subtract(b, 1)), b);
}

Amount Amounts::minimum(const Amount& a, const Amount& b) {
  if (at_most(a, b)) return a;
  if (at_most(b, a)) return b;
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return min(x, y); });
}

Amount Amounts::maximum(const Amount& a, const Amount& b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return max(x, y); });
}

bool Amounts::equal(const Amount& a, const Amount& b) {
  if (a.is_constant() && b.is_constant()) return a.constant == b.constant;
  if (a.symbolic.defined() && a.symbolic.same_as(b.symbolic)) return true;
  const DataType type = type_of(a, b);
  return analyzer_.can_prove_equal(in_type(a, type), in_type(b, type));
}

bool Amounts::at_most(const Amount& a, const Amount& b) {
  if (a.is_constant() && b.is_constant()) return a.constant <= b.constant;
  if (a.symbolic.defined() && a.symbolic.same_as(b.symbolic)) return true;
  const DataType type = type_of(a, b);
  return analyzer_.can_prove(in_type(a, type) <= in_type(b, type), ProofStrength::symbolic_bound);
}

bool Amounts::is_divisor(const Amount& a) {
  return a.is_constant() ? a.constant > 0 : analyzer_.can_prove_greater_equal(a.symbolic, 0);
}

bool is_top(Amounts& amounts, const IterSplitExpr& split) {
  const Amount& all = split.source->extent;
  const Amount& lower = split.lower_factor;
  if (lower.is_constant() && split.extent.is_constant() && all.is_constant()) {
    return amounts.multiply(lower, split.extent).constant >= all.constant;
  }
  if (lower.is(1)) return amounts.at_most(all, split.extent);
  return amounts.equal(split.extent, amounts.ceil_quotient(all, lower)) ||
         amounts.at_most(all, amounts.multiply(lower, split.extent));
}

}  // namespace arith
}  // namespace loopsmith
