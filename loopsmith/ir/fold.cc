// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/fold.h"

#include <cmath>

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace detail {
namespace {

/// The constant `value` of an integer type, reduced as the type wraps; null when a type that must
/// not overflow would.
Expr integer_result(DataType type, __int128 value) {
  const auto low = static_cast<std::int64_t>(value);
  const std::int64_t wrapped = wrap_to(type, low);
  const bool exact = type == u64 || static_cast<__int128>(wrapped) == value;
  if (type.is_index() && !exact) return nullptr;
  return int_imm(type, wrapped);
}

/// Constants as mathematical integers: a uint64 is not negative.
__int128 whole(DataType type, std::int64_t value) {
  return type == u64 ? static_cast<__int128>(static_cast<std::uint64_t>(value)) : value;
}

Expr float_result(DataType type, double value) {
  // Types below float32 compute in float32, then round.
  const double in_float = type.bits < 32 ? round_to(f32, value) : value;
  const double rounded = round_to(type, in_float);
  return std::isfinite(rounded) || !std::isfinite(value) ? float_imm(type, rounded) : Expr();
}

__int128 floor_quotient(__int128 a, __int128 b) {
  const __int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Expr fold_integers(Fn fn, DataType type, std::int64_t left, std::int64_t right) {
  const __int128 a = whole(type, left);
  const __int128 b = whole(type, right);
  switch (fn) {
    case Fn::add: return integer_result(type, a + b);
    case Fn::sub: return integer_result(type, a - b);
    case Fn::mul: {
      __int128 product = 0;
      if (__builtin_mul_overflow(a, b, &product)) return nullptr;
      return integer_result(type, product);
    }
    case Fn::div: return integer_result(type, a / b);
    case Fn::mod: return integer_result(type, a % b);
    case Fn::floordiv: return integer_result(type, floor_quotient(a, b));
    case Fn::floormod: return integer_result(type, a - floor_quotient(a, b) * b);
    case Fn::min: return int_imm(type, a < b ? left : right);
    case Fn::max: return int_imm(type, a < b ? right : left);
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
  }
  return nullptr;
}

Expr fold_floats(Fn fn, DataType type, double a, double b) {
  switch (fn) {
    case Fn::add: return float_result(type, a + b);
    case Fn::sub: return float_result(type, a - b);
    case Fn::mul: return float_result(type, a * b);
    case Fn::div: return b == 0 ? Expr() : float_result(type, a / b);
    case Fn::min: return std::isnan(a) || std::isnan(b) ? Expr() : float_imm(type, std::fmin(a, b));
    case Fn::max: return std::isnan(a) || std::isnan(b) ? Expr() : float_imm(type, std::fmax(a, b));
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
    default: return nullptr;
  }
}

/// What x + 0, x * 1 and the like amount to; else null. For floats, only what is exact.
Expr fold_identity(Fn fn, const Expr& a, const Expr& b) {
  const DataType type = a.dtype();
  const bool exact = type.is_integer();
  switch (fn) {
    case Fn::add:
      if (exact && is_const_int(a, 0)) return b;
      if (exact && is_const_int(b, 0)) return a;
      return nullptr;
    case Fn::sub: {
      const double* zero = as_float(b);
      if (exact ? is_const_int(b, 0) : zero && *zero == 0 && !std::signbit(*zero)) return a;
      return nullptr;
    }
    case Fn::mul:
      if (is_const_int(a, 1)) return b;
      if (is_const_int(b, 1)) return a;
      if (exact && is_const_int(a, 0)) return a;
      if (exact && is_const_int(b, 0)) return b;
      return nullptr;
    case Fn::div:
    case Fn::floordiv:
      if (is_const_int(b, 1)) return a;
      if (exact && is_const_int(a, 0)) return a;
      return nullptr;
    case Fn::mod:
    case Fn::floormod:
      if (exact && (is_const_int(b, 1) || is_const_int(a, 0))) return zero_of(type);
      return nullptr;
    case Fn::min:
    case Fn::max:
      if (a.same_as(b)) return a;
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace

bool is_true(const Expr& e) {
  return e.dtype().is_bool() && is_const_int(e, 1);
}
bool is_false(const Expr& e) {
  return e.dtype().is_bool() && is_const_int(e, 0);
}

Expr splat(const Expr& value, int lanes) {
  if (!value.defined() || lanes == 1) return value;
  return make(Broadcast{.value = value, .lanes = lanes});
}

/// The constant that `fn` gives for constant operands; else null.
Expr fold_constants(Fn fn, const Expr& a, const Expr& b) {
  const DataType type = a.dtype();
  if (const std::int64_t *x = as_int(a), *y = as_int(b); x && y && type.is_integer()) {
    if (fn >= Fn::div && fn <= Fn::floormod && *y == 0) return nullptr;
    return splat(fold_integers(fn, type.element(), *x, *y), type.lanes);
  }
  if (const double *x = as_float(a), *y = as_float(b); x && y) {
    return splat(fold_floats(fn, type.element(), *x, *y), type.lanes);
  }
  return nullptr;
}

Expr try_fold(Fn fn, const Expr& a, const Expr& b) {
  Expr constant = fold_constants(fn, a, b);
  return constant.defined() ? constant : fold_identity(fn, a, b);
}

Expr fold_and(const Expr& a, const Expr& b) {
  if (is_true(a) || is_false(b)) return b;
  if (is_true(b) || is_false(a)) return a;
  return nullptr;
}
Expr fold_or(const Expr& a, const Expr& b) {
  if (is_true(a) || is_false(b)) return a;
  if (is_true(b) || is_false(a)) return b;
  return nullptr;
}
Expr fold_not(const Expr& a) {
  if (!is_true(a) && !is_false(a)) return nullptr;
  return splat(is_false(a), a.dtype().lanes);
}

Expr fold_cast(DataType type, const Expr& value) {
  const DataType from = value.dtype();
  if (const std::int64_t* integer = as_int(value); integer && from.is_integer()) {
    if (type.is_bool()) return splat(*integer != 0, type.lanes);
    if (type.is_integer())
      return splat(int_imm(type.element(), wrap_to(type, *integer)), type.lanes);
    if (type.is_float()) {
      // Rounded once: to float64, or to float32, in which the smaller types compute.
      const __int128 exact = whole(from.element(), *integer);
      const double real = type.bits < 64 ? static_cast<float>(exact) : static_cast<double>(exact);
      return splat(float_result(type.element(), real), type.lanes);
    }
  }
  if (const double* real = as_float(value)) {
    if (type.is_float()) return splat(float_result(type.element(), *real), type.lanes);
    if (type.is_bool()) return splat(*real != 0, type.lanes);
    const bool small = std::abs(*real) < std::ldexp(1.0, 62);
    if (type.is_integer() && !type.is_bool() && small) {
      const auto truncated = static_cast<std::int64_t>(*real);
      if (truncated >= min_int(type) && truncated <= max_int(type)) {
        return splat(int_imm(type.element(), truncated), type.lanes);
      }
    }
  }
  return nullptr;
}

Expr fold_shift(bool left, DataType type, std::int64_t x, std::int64_t y) {
  if (y < 0 || y >= type.bits) return nullptr;
  const __int128 value = whole(type, x);
  return integer_result(type, left ? value * (__int128{1} << y) : value >> y);
}

void require_divisor(const Expr& b, std::string_view what) {
  require(!(b.dtype().is_integer() && is_const_int(b, 0)), ErrorKind::bounds, "divisor_is_not_zero",
          hint("divide by a number other than 0"), b.defined() ? b.span() : Span{},
          "{}: divide by zero", what);
}

}  // namespace detail

Expr fold(const Expr& node) {
  using namespace detail;
  const auto binary = [](Fn fn, const auto* n) { return try_fold(fn, n->a, n->b); };
  if (const auto* n = node.as<Add>()) return binary(Fn::add, n);
  if (const auto* n = node.as<Sub>()) return binary(Fn::sub, n);
  if (const auto* n = node.as<Mul>()) return binary(Fn::mul, n);
  if (const auto* n = node.as<Div>()) return require_divisor(n->b, "truncdiv"), binary(Fn::div, n);
  if (const auto* n = node.as<Mod>()) return require_divisor(n->b, "truncmod"), binary(Fn::mod, n);
  if (const auto* n = node.as<FloorDiv>()) {
    return require_divisor(n->b, "floordiv"), binary(Fn::floordiv, n);
  }
  if (const auto* n = node.as<FloorMod>()) {
    return require_divisor(n->b, "floormod"), binary(Fn::floormod, n);
  }
  if (const auto* n = node.as<Min>()) return binary(Fn::min, n);
  if (const auto* n = node.as<Max>()) return binary(Fn::max, n);
  if (const auto* n = node.as<EQ>()) return binary(Fn::eq, n);
  if (const auto* n = node.as<NE>()) return binary(Fn::ne, n);
  if (const auto* n = node.as<LT>()) return binary(Fn::lt, n);
  if (const auto* n = node.as<LE>()) return binary(Fn::le, n);
  if (const auto* n = node.as<GT>()) return fold_constants(Fn::lt, n->b, n->a);
  if (const auto* n = node.as<GE>()) return fold_constants(Fn::le, n->b, n->a);
  if (const auto* n = node.as<And>()) return fold_and(n->a, n->b);
  if (const auto* n = node.as<Or>()) return fold_or(n->a, n->b);
  if (const auto* n = node.as<Not>()) return fold_not(n->a);
  if (const auto* n = node.as<Cast>()) return fold_cast(n->dtype, n->value);
  return nullptr;
}

}  // namespace loopsmith
