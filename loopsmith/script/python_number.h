// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "loopsmith/script/value.h"

namespace loopsmith::parsing {

/// The largest magnitude of an integer that the script computes with.
constexpr __int128 max_python_integer = (__int128{1} << 126);

/// A number of Python, or a bool as one.
struct Number {
  bool is_real = false;
  __int128 integer = 0;
  double real = 0;

  double as_real() const { return is_real ? real : static_cast<double>(integer); }
};

/// The number that a value is, if it is one.
std::optional<Number> number_of(const ScriptValue& value);

/// `a symbol b` of Python's numbers; nullopt when the script leaves it to the resolver.
std::optional<ScriptValue> numbers(std::string_view symbol, const Number& a, const Number& b);

}  // namespace loopsmith::parsing
