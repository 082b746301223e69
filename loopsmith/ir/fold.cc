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

Expr fold_integers(std::uint16_t kind, DataType type, std::int64_t left, std::int64_t right) {
  if (is_division(kind) && right == 0) return nullptr;
  const __int128 result = whole_result(kind, whole(type, left), whole(type, right));
  return kind >= kind_of<EQ> ? Expr(result != 0) : integer_result(type, result);
}

Expr fold_floats(std::uint16_t kind, DataType type, double a, double b) {
  switch (kind) {
    case kind_of<Add>: return float_result(type, a + b);
    case kind_of<Sub>: return float_result(type, a - b);
    case kind_of<Mul>: return float_result(type, a * b);
    case kind_of<Div>: return b == 0 ? Expr() : float_result(type, a / b);
    case kind_of<Min>:
      return std::isnan(a) || std::isnan(b) ? Expr() : float_imm(type, std::fmin(a, b));
    case kind_of<Max>:
      return std::isnan(a) || std::isnan(b) ? Expr() : float_imm(type, std::fmax(a, b));
    case kind_of<EQ>: return a == b;
    case kind_of<NE>: return a != b;
    case kind_of<LT>: return a < b;
    case kind_of<LE>: return a <= b;
    case kind_of<GT>: return a > b;
    case kind_of<GE>: return a >= b;
    default: return nullptr;
  }
}

/// What x + 0, x * 1 and the like amount to; else null. For floats, only what is exact.
Expr fold_identity(std::uint16_t kind, const Expr& a, const Expr& b) {
  const DataType type = a.dtype();
  const bool exact = type.is_integer();
  switch (kind) {
    case kind_of<Add>:
      if (exact && is_const_int(a, 0)) return b;
      if (exact && is_const_int(b, 0)) return a;
      return nullptr;
    case kind_of<Sub>: {
      const double* zero = as_float(b);
      if (exact ? is_const_int(b, 0) : zero && *zero == 0 && !std::signbit(*zero)) return a;
      return nullptr;
    }
    case kind_of<Mul>:
      if (is_const_int(a, 1)) return b;
      if (is_const_int(b, 1)) return a;
      if (exact && is_const_int(a, 0)) return a;
      if (exact && is_const_int(b, 0)) return b;
      return nullptr;
    case kind_of<Div>:
    case kind_of<FloorDiv>:
      if (is_const_int(b, 1)) return a;
      if (exact && is_const_int(a, 0)) return a;
      return nullptr;
    case kind_of<Mod>:
    case kind_of<FloorMod>:
      if (exact && (is_const_int(b, 1) || is_const_int(a, 0))) return zero_of(type);
      return nullptr;
    case kind_of<Min>:
    case kind_of<Max>:
      if (a.same_as(b)) return a;
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace

std::pair<const Expr&, const Expr&> operands_of(const Expr& binary) {
  const Object& node = *binary.get();
  const auto& fields = node_info(node.kind).children;
  return {static_cast<const Expr&>(fields[0].ref(node)),
          static_cast<const Expr&>(fields[1].ref(node))};
}

__int128 whole_result(std::uint16_t kind, __int128 a, __int128 b) {
  if (is_division(kind) && b == 0) return 0;
  const bool is_above = is_division(kind) && a % b != 0 && (a < 0) != (b < 0);
  switch (kind) {
    case kind_of<Add>: return a + b;
    case kind_of<Sub>: return a - b;
    case kind_of<Mul>: {
      using Bits = unsigned __int128;
      return static_cast<__int128>(static_cast<Bits>(a) * static_cast<Bits>(b));
    }
    case kind_of<Div>: return a / b;
    case kind_of<Mod>: return a % b;
    case kind_of<FloorDiv>: return a / b - (is_above ? 1 : 0);
    case kind_of<FloorMod>: return a % b + (is_above ? b : 0);
    case kind_of<Min>: return a < b ? a : b;
    case kind_of<Max>: return a > b ? a : b;
    case kind_of<EQ>: return a == b;
    case kind_of<NE>: return a != b;
    case kind_of<LT>: return a < b;
    case kind_of<LE>: return a <= b;
    case kind_of<GT>: return a > b;
    case kind_of<GE>: return a >= b;
    case kind_of<And>: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

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

Expr try_fold(std::uint16_t kind, const Expr& a, const Expr& b) {
  if (kind == kind_of<And> || kind == kind_of<Or>) {
    const bool is_and = kind == kind_of<And>;
    if (is_true(a) || is_false(b)) return is_and ? b : a;
    if (is_true(b) || is_false(a)) return is_and ? a : b;
    return nullptr;
  }
  const DataType type = a.dtype();
  Expr constant;
  if (const std::int64_t *x = as_int(a), *y = as_int(b); x && y && type.is_integer()) {
    constant = fold_integers(kind, type.element(), *x, *y);
  } else if (const double* x = as_float(a), *y = as_float(b); x && y) {
    constant = fold_floats(kind, type.element(), *x, *y);
  }
  return constant.defined() ? splat(constant, type.lanes) : fold_identity(kind, a, b);
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

std::string_view name_of_division(std::uint16_t kind) {
  constexpr std::string_view names[] = {"truncdiv", "truncmod", "floordiv", "floormod"};
  return names[kind - kind_of<Div>];
}

void require_divisor(std::uint16_t kind, const Expr& b) {
  require(!(b.dtype().is_integer() && is_const_int(b, 0)), ErrorKind::bounds, "divisor_is_not_zero",
          hint("divide by a number other than 0"), b.defined() ? b.span() : Span{},
          "{}: divide by zero", name_of_division(kind));
}

}  // namespace detail

Expr fold(const Expr& node) {
  using namespace detail;
  if (const std::uint16_t kind = node.defined() ? node.get()->kind : 0; is_binary(kind)) {
    const auto& [a, b] = operands_of(node);
    if (is_division(kind)) require_divisor(kind, b);
    return try_fold(kind, a, b);
  }
  if (const auto* n = node.as<Not>()) return fold_not(n->a);
  if (const auto* n = node.as<Cast>()) return fold_cast(n->dtype, n->value);
  return nullptr;
}

}  // namespace loopsmith
