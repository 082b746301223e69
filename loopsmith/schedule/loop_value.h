// SPDX-License-Identifier: Apache-2.0
// A value that a loop takes: one number for all sizes, one that follows from them, or that of
// another loop.
#pragma once
#include <concepts>
#include <string>
#include <type_traits>
#include <variant>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// A number, an integer expression of the sizes of the function, or the value of a loop.
struct LoopValue {
  std::variant<std::int64_t, Expr, LoopRV> value;

  LoopValue() = default;
  LoopValue(LoopRV loop) : value(loop) {}
  template <class T>
    requires std::is_integral_v<T>
  LoopValue(T number) : value(static_cast<std::int64_t>(number)) {}
  template <class T>
    requires(!std::is_arithmetic_v<T> && std::convertible_to<const T&, Expr>)
  LoopValue(const T& of_sizes) : value(Expr(of_sizes)) {}
};

Argument to_argument(const LoopValue& value);

template <class Value, class Visit>
  requires std::same_as<std::remove_const_t<Value>, LoopValue>
void for_each_handle(Value& value, Visit&& visit) {
  if (auto* loop = std::get_if<LoopRV>(&value.value)) visit(*loop);
}

template <>
inline std::string python_type<LoopValue>() {
  return "LoopRV | Expr | int | str";
}

}  // namespace loopsmith
