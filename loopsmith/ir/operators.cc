// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/operators.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace loopsmith {
namespace {

// ---- Constants ----

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

void require_divisor(const Expr& b, std::string_view what) {
  require(!(b.dtype().is_integer() && is_const_int(b, 0)), ErrorKind::bounds, "divisor_is_not_zero",
          hint("divide by a number other than 0"), b.defined() ? b.span() : Span{},
          "{}: divide by zero", what);
}

enum class Fn { add, sub, mul, div, mod, floordiv, floormod, min, max, eq, ne, lt, le };

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

Expr try_fold(Fn fn, const Expr& a, const Expr& b) {
  Expr constant = fold_constants(fn, a, b);
  return constant.defined() ? constant : fold_identity(fn, a, b);
}

template <class T>
Expr binary(Fn fn, const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  Expr folded = try_fold(fn, a, b);
  return folded.defined() ? folded : Expr(make(T{.a = std::move(a), .b = std::move(b)}));
}

Expr cast_constant(DataType type, const Expr& value) {
  const DataType from = value.dtype();
  if (const std::int64_t* integer = as_int(value); integer && from.is_integer()) {
    if (type.is_bool()) return splat(*integer != 0, type.lanes);
    if (type.is_integer())
      return splat(int_imm(type.element(), wrap_to(type, *integer)), type.lanes);
    if (type.is_float()) {
      return splat(
          float_result(type.element(), static_cast<double>(whole(from.element(), *integer))),
          type.lanes);
    }
  }
  if (const double* real = as_float(value)) {
    if (type.is_float()) return splat(float_result(type.element(), *real), type.lanes);
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

// ---- Conversion of operands ----

/// The type that two scalars of different types are computed in.
DataType common_type(DataType a, DataType b) {
  if (a == b) return a;
  if (a.is_float() && b.is_float()) {
    if (a.bits != b.bits) return a.bits > b.bits ? a : b;
    return f32;  // float16 with bfloat16, the two kinds of float8
  }
  if (a.is_float() || b.is_float()) return a.is_float() ? a : b;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return a.is_uint() ? a : b;
}

void require_numbers(const Expr& a, const Expr& b) {
  for (const Expr& operand : {a, b}) {
    require(operand.defined(), ErrorKind::type_mismatch, "operand_is_missing",
            hint("give both operands"), {}, "operator: an operand is missing");
    require(!operand.dtype().is_handle() && !operand.dtype().is_void(), ErrorKind::type_mismatch,
            "operands_are_numbers", hint("only numbers can be computed with"), operand.span(),
            "operator: an operand is {}, not a number", to_string(operand.dtype()));
  }
}

Expr require_integers(Expr result, std::string_view what) {
  require(result.dtype().is_integer(), ErrorKind::type_mismatch, "operands_are_integers",
          hint("cast the operands to an integer type"), result.span(),
          "{}: the operands are {}, not integers", what, to_string(result.dtype()));
  return result;
}

template <class T>
Expr integer_division(Fn fn, const Expr& left, const Expr& right, std::string_view what) {
  auto [a, b] = match_types(left, right);
  require(a.dtype().is_integer(), ErrorKind::type_mismatch, "operands_are_integers",
          hint("use / for floating-point operands"), a.span(),
          "{}: the operands are {}, not integers", what, to_string(a.dtype()));
  require_divisor(b, what);
  return binary<T>(fn, a, b);
}

Expr bitwise(Op op, const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  if (a.dtype().is_bool()) {
    if (op == loopsmith::op("bitwise_and")) return a && b;
    if (op == loopsmith::op("bitwise_or")) return a || b;
    return a != b;
  }
  if (const std::int64_t *x = as_int(a), *y = as_int(b); x && y && a.dtype().is_integer()) {
    const std::int64_t bits = op == loopsmith::op("bitwise_and")  ? *x & *y
                              : op == loopsmith::op("bitwise_or") ? *x | *y
                                                                  : *x ^ *y;
    return splat(int_imm(a.dtype().element(), wrap_to(a.dtype(), bits)), a.dtype().lanes);
  }
  return require_integers(call(op, {a, b}), op.name());
}

Expr shift(Op op, const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  const std::int64_t *x = as_int(a), *y = as_int(b);
  const DataType type = a.dtype().element();
  if (x && y && type.is_integer() && *y >= 0 && *y < type.bits) {
    const __int128 value = whole(type, *x);
    const Expr constant = op == loopsmith::op("shift_left")
                              ? integer_result(type, value * (__int128{1} << *y))
                              : integer_result(type, value >> *y);
    if (constant.defined()) return splat(constant, a.dtype().lanes);
  }
  return require_integers(call(op, {a, b}), op.name());
}

bool is_true(const Expr& e) {
  return e.dtype().is_bool() && is_const_int(e, 1);
}
bool is_false(const Expr& e) {
  return e.dtype().is_bool() && is_const_int(e, 0);
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

}  // namespace

std::pair<Expr, Expr> match_types(Expr a, Expr b) {
  require_numbers(a, b);
  const int lanes = std::max(a.dtype().lanes, b.dtype().lanes);
  require(a.dtype().lanes == b.dtype().lanes || a.dtype().is_scalar() || b.dtype().is_scalar(),
          ErrorKind::type_mismatch, "operands_have_equal_lanes", hint("broadcast a scalar only"),
          a.span(), "operator: vectors of {} and {} lanes", a.dtype().lanes, b.dtype().lanes);
  const DataType type = common_type(a.dtype().element(), b.dtype().element());
  const auto convert = [&](Expr value) {
    return broadcast(cast(type.with_lanes(value.dtype().lanes), value), lanes);
  };
  return {convert(std::move(a)), convert(std::move(b))};
}

Expr operator+(const Expr& a, const Expr& b) {
  return binary<Add>(Fn::add, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return binary<Sub>(Fn::sub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return binary<Mul>(Fn::mul, a, b);
}

Expr operator-(const Expr& a) {
  // 0 - x would lose the sign of a floating-point zero.
  if (a.dtype().is_float()) return a * const_of(a.dtype(), -1.0);
  return zero_of(a.dtype()) - a;
}

Expr operator/(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  require(a.dtype().is_float(), ErrorKind::type_mismatch, "division_is_ambiguous",
          hint("write floordiv(a, b) (rounds down) or truncdiv(a, b) (rounds toward zero)"),
          a.span(), "/: division of {} by {} may round in two ways", to_string(left.dtype()),
          to_string(right.dtype()));
  return binary<Div>(Fn::div, a, b);
}

Expr operator<(const Expr& a, const Expr& b) {
  return binary<LT>(Fn::lt, a, b);
}
Expr operator<=(const Expr& a, const Expr& b) {
  return binary<LE>(Fn::le, a, b);
}
Expr operator==(const Expr& a, const Expr& b) {
  return binary<EQ>(Fn::eq, a, b);
}
Expr operator!=(const Expr& a, const Expr& b) {
  return binary<NE>(Fn::ne, a, b);
}

Expr operator>(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  Expr folded = fold_constants(Fn::lt, b, a);
  return folded.defined() ? folded : Expr(make(GT{.a = a, .b = b}));
}

Expr operator>=(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  Expr folded = fold_constants(Fn::le, b, a);
  return folded.defined() ? folded : Expr(make(GE{.a = a, .b = b}));
}

Expr operator&&(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  Expr folded = fold_and(a, b);
  return folded.defined() ? folded : Expr(make(And{.a = a, .b = b}));
}

Expr operator||(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  Expr folded = fold_or(a, b);
  return folded.defined() ? folded : Expr(make(Or{.a = a, .b = b}));
}

Expr operator!(const Expr& a) {
  Expr folded = fold_not(a);
  return folded.defined() ? folded : Expr(make(Not{.a = a}));
}

Expr operator&(const Expr& a, const Expr& b) {
  return bitwise(op("bitwise_and"), a, b);
}
Expr operator|(const Expr& a, const Expr& b) {
  return bitwise(op("bitwise_or"), a, b);
}
Expr operator^(const Expr& a, const Expr& b) {
  return bitwise(op("bitwise_xor"), a, b);
}
Expr operator<<(const Expr& a, const Expr& b) {
  return shift(op("shift_left"), a, b);
}
Expr operator>>(const Expr& a, const Expr& b) {
  return shift(op("shift_right"), a, b);
}

Expr operator~(const Expr& a) {
  if (a.dtype().is_bool()) return !a;
  return require_integers(call(op("bitwise_not"), {a}), "bitwise_not");
}

Expr floordiv(const Expr& a, const Expr& b) {
  return integer_division<FloorDiv>(Fn::floordiv, a, b, "floordiv");
}
Expr floormod(const Expr& a, const Expr& b) {
  return integer_division<FloorMod>(Fn::floormod, a, b, "floormod");
}
Expr truncdiv(const Expr& a, const Expr& b) {
  return integer_division<Div>(Fn::div, a, b, "truncdiv");
}
Expr truncmod(const Expr& a, const Expr& b) {
  return integer_division<Mod>(Fn::mod, a, b, "truncmod");
}

Expr ceildiv(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  return floordiv(a + (b - const_of(b.dtype(), 1)), b);
}

Expr min(const Expr& a, const Expr& b) {
  return binary<Min>(Fn::min, a, b);
}
Expr max(const Expr& a, const Expr& b) {
  return binary<Max>(Fn::max, a, b);
}

Expr select(const Expr& condition, const Expr& true_value, const Expr& false_value) {
  auto [yes, no] = match_types(true_value, false_value);
  const int lanes = std::max(condition.dtype().lanes, yes.dtype().lanes);
  yes = broadcast(yes, lanes);
  no = broadcast(no, lanes);
  if (is_true(condition)) return yes;
  if (is_false(condition)) return no;
  return make(Select{.condition = condition, .true_value = yes, .false_value = no});
}

Expr if_then_else(const Expr& condition, const Expr& true_value, const Expr& false_value) {
  auto [yes, no] = match_types(true_value, false_value);
  require(condition.dtype() == boolean, ErrorKind::type_mismatch, "condition_is_bool",
          hint("give a scalar comparison, or use select"), condition.span(),
          "if_then_else: the condition is {}, not bool", to_string(condition.dtype()));
  if (is_true(condition)) return yes;
  if (is_false(condition)) return no;
  return call(yes.dtype(), op("if_then_else"), {condition, yes, no});
}

Expr cast(DataType dtype, const Expr& value) {
  if (value.dtype() == dtype) return value;
  if (value.dtype().is_scalar() && dtype.is_vector()) {
    return broadcast(cast(dtype.element(), value), dtype.lanes);
  }
  Expr constant = cast_constant(dtype, value);
  if (constant.defined()) return constant;
  if (const auto* spread = value.as<Broadcast>()) {
    return broadcast(cast(dtype.element(), spread->value), dtype.lanes);
  }
  return make(Cast{.value = value}, dtype);
}

Expr broadcast(const Expr& value, int lanes) {
  if (value.dtype().lanes == lanes) return value;
  return make(Broadcast{.value = value, .lanes = lanes});
}

Expr reinterpret(DataType dtype, const Expr& value) {
  if (value.dtype() == dtype) return value;
  require(value.dtype().bits * value.dtype().lanes == dtype.bits * dtype.lanes,
          ErrorKind::type_mismatch, "reinterpret_keeps_bits",
          hint("choose a type of the same size"), value.span(),
          "reinterpret: {} as {} changes the number of bits", to_string(value.dtype()),
          to_string(dtype));
  return call(dtype, op("reinterpret"), {value});
}

Expr likely(const Expr& condition) {
  if (as_int(condition)) return condition;
  return call(condition.dtype(), op("likely"), {condition});
}

Expr abs(const Expr& x) {
  const DataType type = x.dtype();
  if (type.is_uint()) return x;
  if (type.is_float()) return call(op("fabs"), {x});
  return select(x >= zero_of(type), x, zero_of(type) - x);
}

DataType result_type(Op op, const std::vector<Expr>& args) {
  const auto type_of = [&](std::size_t i) {
    return i < args.size() && args[i].defined() ? args[i].dtype() : void_type;
  };
  switch (op.info().result) {
    case Result::first: return type_of(0);
    case Result::second: return type_of(1);
    case Result::element: return type_of(0).element();
    case Result::boolean: return boolean.with_lanes(type_of(0).lanes);
    case Result::int32: return i32;
    case Result::handle: return handle_type;
    case Result::given: return void_type;
  }
  return void_type;
}

Expr call(Op op, std::vector<Expr> args) {
  const DataType type = result_type(op, args);
  require(!type.is_void(), ErrorKind::type_mismatch, "call_has_type",
          hint("give the type of the result"), {},
          "{}: the type of this call does not follow from its arguments", op.name());
  return make(Call{.op = op, .args = std::move(args)}, type);
}

Expr call(DataType dtype, Op op, std::vector<Expr> args) {
  return make(Call{.op = op, .args = std::move(args)}, dtype);
}

Expr min_value(DataType dtype) {
  if (dtype.is_float()) return const_of(dtype, -max_float(dtype));
  return splat(int_imm(dtype.element(), min_int(dtype)), dtype.lanes);
}

Expr max_value(DataType dtype) {
  if (dtype.is_float()) return const_of(dtype, max_float(dtype));
  const std::int64_t largest = dtype.element() == u64 ? -1 : max_int(dtype);
  return splat(int_imm(dtype.element(), largest), dtype.lanes);
}

Expr infinity(DataType dtype) {
  return const_of(dtype, std::numeric_limits<double>::infinity());
}

Expr fold(const Expr& node) {
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
  if (const auto* n = node.as<Cast>()) return cast_constant(n->dtype, n->value);
  return nullptr;
}

}  // namespace loopsmith
