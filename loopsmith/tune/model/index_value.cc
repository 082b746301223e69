// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/index_value.h"

#include <algorithm>

#include "loopsmith/arith/const_int_bound.h"

namespace loopsmith::tune {
namespace {

using Value = std::optional<std::int64_t>;

Value value_of_variable(const Expr& expr, const Assignment& assignment) {
  const Object* variable = expr.get();
  for (const auto& [known, number] : assignment.numbers) {
    if (known == variable) return number;
  }
  for (const auto& [known, meaning] : assignment.names) {
    if (known == variable) return value_of(meaning, assignment);
  }
  return assignment.size;
}

std::int64_t wrapped(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}

/// The value of a node of type T, when the expression is one.
template <class T, class Combine>
bool is_combined(const Expr& expr, const Assignment& assignment, Value& result, Combine combine) {
  const auto* node = expr.as<T>();
  if (!node) return false;
  const Value a = value_of(node->a, assignment);
  const Value b = a ? value_of(node->b, assignment) : std::nullopt;
  result = a && b ? combine(*a, *b) : std::nullopt;
  return true;
}

Value quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? Value() : Value(wrapped(-static_cast<std::uint64_t>(a)));
  return arith::floor_quotient(a, b);
}

Value remainder(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? Value() : Value(0);
  return arith::floor_remainder(a, b);
}

}  // namespace

std::optional<std::int64_t> value_of(const Expr& expr, const Assignment& assignment) {
  if (const std::int64_t* number = as_int(expr)) return *number;
  if (expr.is<Var>()) return value_of_variable(expr, assignment);
  if (const auto* cast = expr.as<Cast>()) return value_of(cast->value, assignment);
  Value result;
  const auto is_a = [&]<class T>(const T*, auto combine) {
    return is_combined<T>(expr, assignment, result, combine);
  };
  using Number = std::int64_t;
  const auto unsigned_of = [](Number a) { return static_cast<std::uint64_t>(a); };
  const bool is_known =
      is_a(static_cast<const Add*>(nullptr),
           [&](Number a, Number b) { return Value(wrapped(unsigned_of(a) + unsigned_of(b))); }) ||
      is_a(static_cast<const Mul*>(nullptr),
           [&](Number a, Number b) { return Value(wrapped(unsigned_of(a) * unsigned_of(b))); }) ||
      is_a(static_cast<const Sub*>(nullptr),
           [&](Number a, Number b) { return Value(wrapped(unsigned_of(a) - unsigned_of(b))); }) ||
      is_a(static_cast<const FloorDiv*>(nullptr), quotient) ||
      is_a(static_cast<const FloorMod*>(nullptr), remainder) ||
      is_a(static_cast<const Min*>(nullptr),
           [](Number a, Number b) { return Value(std::min(a, b)); }) ||
      is_a(static_cast<const Max*>(nullptr),
           [](Number a, Number b) { return Value(std::max(a, b)); }) ||
      is_a(static_cast<const LT*>(nullptr), [](Number a, Number b) { return Value(a < b); }) ||
      is_a(static_cast<const LE*>(nullptr), [](Number a, Number b) { return Value(a <= b); }) ||
      is_a(static_cast<const GT*>(nullptr), [](Number a, Number b) { return Value(a > b); }) ||
      is_a(static_cast<const GE*>(nullptr), [](Number a, Number b) { return Value(a >= b); }) ||
      is_a(static_cast<const And*>(nullptr), [](Number a, Number b) { return Value(a && b); }) ||
      is_a(static_cast<const Or*>(nullptr), [](Number a, Number b) { return Value(a || b); });
  if (is_known) return result;
  if (const auto* select = expr.as<Select>()) {
    const Value condition = value_of(select->condition, assignment);
    if (!condition) return {};
    return value_of(*condition != 0 ? select->true_value : select->false_value, assignment);
  }
  return {};
}

}  // namespace loopsmith::tune
