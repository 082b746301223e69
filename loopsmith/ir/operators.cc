// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/operators.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "loopsmith/ir/fold.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using namespace detail;

/// True when no operand needs a conversion.
bool have_one_type(const Expr& a, const Expr& b) {
  return a.defined() && b.defined() && a.dtype() == b.dtype() && a.dtype().code != TypeCode::handle;
}

template <class T>
Expr binary(const Expr& left, const Expr& right) {
  if (!have_one_type(left, right)) {
    const auto [a, b] = match_types(left, right);
    return binary<T>(a, b);
  }
  Expr folded = try_fold(kind_of<T>, left, right);
  return folded.defined() ? folded : Expr(make(T{.a = left, .b = right}));
}

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
            "operator: an operand is {}, not a number", TypeName(operand.dtype()));
  }
}

template <class T>
Expr integer_division(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  require(a.dtype().is_integer(), ErrorKind::type_mismatch, "operands_are_integers",
          hint("use / for floating-point operands"), a.span(),
          "{}: the operands are {}, not integers", name_of_division(kind_of<T>),
          TypeName(a.dtype()));
  require_divisor(kind_of<T>, b);
  return binary<T>(a, b);
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
  return call(op, {a, b});
}

Expr shift(Op op, const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  const std::int64_t *x = as_int(a), *y = as_int(b);
  if (x && y && a.dtype().is_integer()) {
    const bool left_shift = op == loopsmith::op("shift_left");
    Expr constant = fold_shift(left_shift, a.dtype().element(), *x, *y);
    if (constant.defined()) return splat(constant, a.dtype().lanes);
  }
  return call(op, {a, b});
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
  return binary<Add>(a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return binary<Sub>(a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return binary<Mul>(a, b);
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
          a.span(), "/: division of {} by {} may round in two ways", TypeName(left.dtype()),
          TypeName(right.dtype()));
  return binary<Div>(a, b);
}

Expr operator<(const Expr& a, const Expr& b) {
  return binary<LT>(a, b);
}
Expr operator<=(const Expr& a, const Expr& b) {
  return binary<LE>(a, b);
}
Expr operator==(const Expr& a, const Expr& b) {
  return binary<EQ>(a, b);
}
Expr operator!=(const Expr& a, const Expr& b) {
  return binary<NE>(a, b);
}

Expr operator>(const Expr& a, const Expr& b) {
  return binary<GT>(a, b);
}

Expr operator>=(const Expr& a, const Expr& b) {
  return binary<GE>(a, b);
}

Expr operator&&(const Expr& a, const Expr& b) {
  return binary<And>(a, b);
}

Expr operator||(const Expr& a, const Expr& b) {
  return binary<Or>(a, b);
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
  return call(op("bitwise_not"), {a});
}

Expr floordiv(const Expr& a, const Expr& b) {
  return integer_division<FloorDiv>(a, b);
}
Expr floormod(const Expr& a, const Expr& b) {
  return integer_division<FloorMod>(a, b);
}
Expr truncdiv(const Expr& a, const Expr& b) {
  return integer_division<Div>(a, b);
}
Expr truncmod(const Expr& a, const Expr& b) {
  return integer_division<Mod>(a, b);
}

Expr ceildiv(const Expr& left, const Expr& right) {
  auto [a, b] = match_types(left, right);
  return floordiv(a + (b - const_of(b.dtype(), 1)), b);
}

Expr min(const Expr& a, const Expr& b) {
  return binary<Min>(a, b);
}
Expr max(const Expr& a, const Expr& b) {
  return binary<Max>(a, b);
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
          "if_then_else: the condition is {}, not bool", TypeName(condition.dtype()));
  if (is_true(condition)) return yes;
  if (is_false(condition)) return no;
  return call(yes.dtype(), op("if_then_else"), {condition, yes, no});
}

Expr cast(DataType dtype, const Expr& value) {
  if (value.dtype() == dtype) return value;
  if (value.dtype().is_scalar() && dtype.is_vector()) {
    return broadcast(cast(dtype.element(), value), dtype.lanes);
  }
  Expr constant = fold_cast(dtype, value);
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
          "reinterpret: {} as {} changes the number of bits", TypeName(value.dtype()),
          TypeName(dtype));
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

}  // namespace loopsmith
