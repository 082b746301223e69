// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/python_number.h"

#include <cmath>

namespace loopsmith::parsing {
namespace {

__int128 floor_divide(__int128 a, __int128 b) {
  const __int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// `a symbol b` of Python's integers; nullopt when the script leaves it to the resolver.
std::optional<ScriptValue> integers(std::string_view symbol, __int128 a, __int128 b) {
  __int128 result = 0;
  bool overflow = false;
  if (symbol == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (symbol == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (symbol == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (symbol == "//" || symbol == "%") {
    if (b == 0) return std::nullopt;
    result = symbol == "//" ? floor_divide(a, b) : a - floor_divide(a, b) * b;
  } else if (symbol == "&") {
    result = a & b;
  } else if (symbol == "|") {
    result = a | b;
  } else if (symbol == "^") {
    result = a ^ b;
  } else if (symbol == "<<" || symbol == ">>") {
    if (b < 0 || b > 120) return std::nullopt;
    if (symbol == ">>") {
      result = a >> static_cast<int>(b);
    } else {
      overflow = __builtin_mul_overflow(a, __int128{1} << static_cast<int>(b), &result);
    }
  } else if (symbol == "**") {
    if (b < 0 || b > 126) return std::nullopt;
    result = 1;
    for (__int128 i = 0; i < b && !overflow; ++i) {
      overflow = __builtin_mul_overflow(result, a, &result);
    }
  } else {
    return std::nullopt;
  }
  if (overflow || result > max_python_integer || result < -max_python_integer) return std::nullopt;
  return ScriptValue::integer(result);
}

}  // namespace

std::optional<Number> number_of(const ScriptValue& value) {
  if (const auto* integer = value.as<ScriptValue::Integer>()) return Number{false, integer->value};
  if (const auto* real = value.as<double>()) return Number{true, 0, *real};
  if (const auto* truth = value.as<bool>()) return Number{false, *truth ? 1 : 0};
  return std::nullopt;
}

std::optional<ScriptValue> numbers(std::string_view symbol, const Number& a, const Number& b) {
  if (!a.is_real && !b.is_real && symbol != "/") return integers(symbol, a.integer, b.integer);
  const double x = a.as_real(), y = b.as_real();
  if (symbol == "+") return ScriptValue::real(x + y);
  if (symbol == "-") return ScriptValue::real(x - y);
  if (symbol == "*") return ScriptValue::real(x * y);
  if (symbol == "/" && y != 0) return ScriptValue::real(x / y);
  if (symbol == "**" && (x > 0 || y == std::trunc(y)) && !(x == 0 && y < 0)) {
    return ScriptValue::real(std::pow(x, y));
  }
  return std::nullopt;
}

}  // namespace loopsmith::parsing
