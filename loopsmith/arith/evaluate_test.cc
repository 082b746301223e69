// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/evaluate_test.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::testing {
namespace {

using Lanes = std::optional<std::vector<std::int64_t>>;

std::optional<std::int64_t> in_type(DataType type, __int128 value) {
  const auto low = static_cast<std::int64_t>(value);
  if (type.is_index()) return low == value ? std::optional(low) : std::nullopt;
  return wrap_to(type, low);
}

std::optional<std::int64_t> operate(std::uint16_t kind, DataType type, std::int64_t x,
                                    std::int64_t y) {
  const __int128 a = type.element() == u64 ? __int128{static_cast<std::uint64_t>(x)} : __int128{x};
  const __int128 b = type.element() == u64 ? __int128{static_cast<std::uint64_t>(y)} : __int128{y};
  const bool divides = kind == kind_of<Div> || kind == kind_of<Mod> || kind == kind_of<FloorDiv> ||
                       kind == kind_of<FloorMod>;
  if (divides && b == 0) return std::nullopt;
  const auto floor = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
  if (kind == kind_of<Add>) return in_type(type, a + b);
  if (kind == kind_of<Sub>) return in_type(type, a - b);
  if (kind == kind_of<Mul>) {
    using Unsigned = unsigned __int128;  // the product of two uint64 may be too large for __int128
    return in_type(type,
                   static_cast<__int128>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)));
  }
  if (kind == kind_of<Div>) return in_type(type, a / b);
  if (kind == kind_of<Mod>) return in_type(type, a % b);
  if (kind == kind_of<FloorDiv>) return in_type(type, floor());
  if (kind == kind_of<FloorMod>) return in_type(type, a - floor() * b);
  if (kind == kind_of<Min>) return a < b ? x : y;
  if (kind == kind_of<Max>) return a < b ? y : x;
  if (kind == kind_of<EQ>) return a == b;
  if (kind == kind_of<NE>) return a != b;
  if (kind == kind_of<LT>) return a < b;
  if (kind == kind_of<LE>) return a <= b;
  if (kind == kind_of<GT>) return a > b;
  if (kind == kind_of<GE>) return a >= b;
  if (kind == kind_of<And>) return a != 0 && b != 0;
  if (kind == kind_of<Or>) return a != 0 || b != 0;
  ADD_FAILURE() << "no such operation";
  return std::nullopt;
}

Lanes evaluate_call(const Call& call, const Environment& values) {
  if (call.op == op("likely")) return evaluate(call.args[0], values);
  if (call.op == op("if_then_else")) {
    const auto condition = evaluate_scalar(call.args[0], values);
    return condition ? evaluate(call.args[*condition != 0 ? 1 : 2], values) : std::nullopt;
  }
  const Lanes a = evaluate(call.args[0], values);
  const Lanes b = evaluate(call.args[1], values);
  if (!a || !b) return std::nullopt;
  std::vector<std::int64_t> result(a->size());
  for (std::size_t i = 0; i < a->size(); ++i) {
    if (call.op == op("shift_right"))
      result[i] = (*a)[i] >> (*b)[i];
    else if (call.op == op("shift_left"))
      result[i] = (*a)[i] * (std::int64_t{1} << (*b)[i]);
    else if (call.op == op("bitwise_and"))
      result[i] = (*a)[i] & (*b)[i];
    else
      return std::nullopt;
    const auto fitted = in_type(call.dtype, result[i]);
    if (!fitted) return std::nullopt;
    result[i] = *fitted;
  }
  return result;
}

}  // namespace

Lanes evaluate(const Expr& expr, const Environment& values) {
  const std::size_t lanes = expr.dtype().lanes;
  if (const auto* constant = expr.as<IntImm>()) return {{constant->value}};
  if (expr.is<Var>()) return {{values.at(expr.get())}};
  if (const auto* spread = expr.as<Broadcast>()) {
    const auto value = evaluate_scalar(spread->value, values);
    return value ? Lanes(std::vector(lanes, *value)) : std::nullopt;
  }
  if (const auto* ramp = expr.as<Ramp>()) {
    const auto base = evaluate_scalar(ramp->base, values);
    const auto stride = evaluate_scalar(ramp->stride, values);
    if (!base || !stride) return std::nullopt;
    std::vector<std::int64_t> result(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      const auto value = in_type(expr.dtype(), __int128{*base} + __int128{*stride} * i);
      if (!value) return std::nullopt;
      result[i] = *value;
    }
    return result;
  }
  if (const auto* no = expr.as<Not>()) {
    Lanes result = evaluate(no->a, values);
    if (result) std::ranges::transform(*result, result->begin(), [](auto v) { return v == 0; });
    return result;
  }
  if (const auto* choice = expr.as<Select>()) {
    const Lanes condition = evaluate(choice->condition, values);
    if (!condition) return std::nullopt;
    // A value that is not chosen may be a division by 0, which does no harm.
    const Lanes yes = evaluate(choice->true_value, values);
    const Lanes no = evaluate(choice->false_value, values);
    std::vector<std::int64_t> result(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      const Lanes& chosen = (*condition)[condition->size() == 1 ? 0 : i] != 0 ? yes : no;
      if (!chosen) return std::nullopt;
      result[i] = (*chosen)[i];
    }
    return result;
  }
  if (const auto* cast = expr.as<Cast>()) {
    Lanes result = evaluate(cast->value, values);
    if (!result) return std::nullopt;
    for (std::int64_t& value : *result) {
      value = expr.dtype().is_bool() ? value != 0 : wrap_to(expr.dtype(), value);
    }
    return result;
  }
  if (const auto* call = expr.as<Call>()) return evaluate_call(*call, values);
  const auto& binary = static_cast<const Add&>(*expr.get());
  const Lanes a = evaluate(binary.a, values);
  const Lanes b = evaluate(binary.b, values);
  if (!a || !b) return std::nullopt;
  std::vector<std::int64_t> result(lanes);
  for (std::size_t i = 0; i < lanes; ++i) {
    const auto value = operate(expr.get()->kind, binary.a.dtype(), (*a)[i], (*b)[i]);
    if (!value) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

std::optional<std::int64_t> evaluate_scalar(const Expr& expr, const Environment& values) {
  const Lanes lanes = evaluate(expr, values);
  return lanes ? std::optional(lanes->front()) : std::nullopt;
}

}  // namespace loopsmith::testing
