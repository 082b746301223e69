// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/iter_map/symbolic_int.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {

SymbolicInt::SymbolicInt(const Expr& expr) {
  if (const std::int64_t* value = as_int(expr)) {
    constant = *value;
  } else {
    symbolic = expr;
  }
}

Expr SymbolicInt::expr(DataType dtype) const {
  return is_constant() ? int_imm(dtype, constant) : cast(dtype, symbolic);
}

namespace arith {
namespace {

constexpr const char* too_large = "Numbers leave 64 bits.";
constexpr const char* not_positive = "A divisor is not positive.";

/// The type to which two integers are converted, at least one of which is symbolic.
DataType type_of(const SymbolicInt& a, const SymbolicInt& b) {
  if (a.is_constant()) return b.symbolic.dtype();
  if (b.is_constant()) return a.symbolic.dtype();
  const DataType x = a.symbolic.dtype();
  const DataType y = b.symbolic.dtype();
  return x.bits < y.bits ? y : x;
}

}  // namespace

SymbolicInt SymbolicArithmetic::fail(const char* reason) {
  if (!failure_) failure_ = reason;
  return 1;
}

Expr SymbolicArithmetic::in_type(const SymbolicInt& a, DataType type) {
  if (a.is_constant() && wrap_to(type, a.constant) != a.constant) return fail(too_large).expr(type);
  return a.expr(type);
}

template <class Combine>
SymbolicInt SymbolicArithmetic::symbolic(const SymbolicInt& a, const SymbolicInt& b,
                                         Combine combine) {
  const DataType type = type_of(a, b);
  return SymbolicInt(analyzer_.simplify(combine(in_type(a, type), in_type(b, type))));
}

SymbolicInt SymbolicArithmetic::add(const SymbolicInt& a, const SymbolicInt& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (!a.is_constant() || !b.is_constant()) {
    return symbolic(a, b, [](const Expr& x, const Expr& y) { return x + y; });
  }
  std::int64_t result = 0;
  if (__builtin_add_overflow(a.constant, b.constant, &result)) return fail(too_large);
  return result;
}

SymbolicInt SymbolicArithmetic::subtract(const SymbolicInt& a, const SymbolicInt& b) {
  return add(a, multiply(b, -1));
}

SymbolicInt SymbolicArithmetic::multiply(const SymbolicInt& a, const SymbolicInt& b) {
  if (a.is(0) || b.is(0)) return 0;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (!a.is_constant() || !b.is_constant()) {
    return symbolic(a, b, [](const Expr& x, const Expr& y) { return x * y; });
  }
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a.constant, b.constant, &result)) return fail(too_large);
  return result;
}

std::optional<SymbolicInt> SymbolicArithmetic::quotient(const SymbolicInt& a,
                                                        const SymbolicInt& b) {
  if (b.is(1) || a.is(0)) return a;
  if (b.is(0)) return {};
  if (a.is_constant() && b.is_constant()) {
    // The least number has no opposite.
    if (b.is(-1)) return multiply(a, -1);
    return a.constant % b.constant == 0 ? std::optional(SymbolicInt(a.constant / b.constant))
                                        : std::nullopt;
  }
  const SymbolicInt result = floor_quotient(a, b);
  return equal(multiply(result, b), a) ? std::optional(result) : std::nullopt;
}

SymbolicInt SymbolicArithmetic::floor_quotient(const SymbolicInt& a, const SymbolicInt& b) {
  if (b.is(1)) return a;
  if (b.is(0)) return fail(not_positive);
  if (a.is_constant() && b.is_constant()) {
    if (b.constant < 0) return fail(not_positive);
    return arith::floor_quotient(a.constant, b.constant);
  }
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return floordiv(x, y); });
}

SymbolicInt SymbolicArithmetic::floor_remainder(const SymbolicInt& a, const SymbolicInt& b) {
  if (b.is(1)) return 0;
  if (b.is(0)) return fail(not_positive);
  if (a.is_constant() && b.is_constant()) {
    if (b.constant < 0) return fail(not_positive);
    return arith::floor_remainder(a.constant, b.constant);
  }
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return floormod(x, y); });
}

SymbolicInt SymbolicArithmetic::ceil_quotient(const SymbolicInt& a, const SymbolicInt& b) {
  return floor_quotient(add(a, subtract(b, 1)), b);
}

SymbolicInt SymbolicArithmetic::minimum(const SymbolicInt& a, const SymbolicInt& b) {
  if (at_most(a, b)) return a;
  if (at_most(b, a)) return b;
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return min(x, y); });
}

SymbolicInt SymbolicArithmetic::maximum(const SymbolicInt& a, const SymbolicInt& b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  return symbolic(a, b, [](const Expr& x, const Expr& y) { return max(x, y); });
}

bool SymbolicArithmetic::equal(const SymbolicInt& a, const SymbolicInt& b) {
  if (a.is_constant() && b.is_constant()) return a.constant == b.constant;
  if (a.symbolic.defined() && a.symbolic.same_as(b.symbolic)) return true;
  const DataType type = type_of(a, b);
  return analyzer_.can_prove_equal(in_type(a, type), in_type(b, type));
}

bool SymbolicArithmetic::at_most(const SymbolicInt& a, const SymbolicInt& b) {
  if (a.is_constant() && b.is_constant()) return a.constant <= b.constant;
  if (a.symbolic.defined() && a.symbolic.same_as(b.symbolic)) return true;
  const DataType type = type_of(a, b);
  return analyzer_.can_prove(in_type(a, type) <= in_type(b, type), ProofStrength::symbolic_bound);
}

bool SymbolicArithmetic::is_divisor(const SymbolicInt& a) {
  return a.is_constant() ? a.constant > 0 : analyzer_.can_prove_greater_equal(a.symbolic, 0);
}

bool is_top(SymbolicArithmetic& arithmetic, const IterSplitExpr& split) {
  const SymbolicInt& all = split.source->extent;
  const SymbolicInt& lower = split.lower_factor;
  if (lower.is_constant() && split.extent.is_constant() && all.is_constant()) {
    return arithmetic.multiply(lower, split.extent).constant >= all.constant;
  }
  if (lower.is(1)) return arithmetic.at_most(all, split.extent);
  return arithmetic.equal(split.extent, arithmetic.ceil_quotient(all, lower)) ||
         arithmetic.at_most(all, arithmetic.multiply(lower, split.extent));
}

}  // namespace arith
}  // namespace loopsmith
