// SPDX-License-Identifier: Apache-2.0
// A factor of a split: one number for all sizes, or one that follows from them.
#pragma once
#include <concepts>
#include <string>
#include <type_traits>
#include <variant>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// The extent of a loop that a split makes: to be inferred from the others, a number, given or a
/// hole, or an integer expression of the sizes of the function.
struct SplitFactor {
  std::variant<Infer, std::int64_t, ExprRV, Expr> value;

  SplitFactor() = default;
  SplitFactor(Infer) {}
  SplitFactor(ExprRV hole) : value(hole) {}
  SplitFactor(const Factor& factor) {
    std::visit([&](const auto& of) { value = of; }, factor.value);
  }
  template <class T>
    requires std::is_integral_v<T>
  SplitFactor(T number) : value(static_cast<std::int64_t>(number)) {}
  template <class T>
    requires(!std::is_arithmetic_v<T> && std::convertible_to<const T&, Expr>)
  SplitFactor(const T& of_sizes) : value(Expr(of_sizes)) {}
};

Argument to_argument(const SplitFactor& value);

template <class Value, class Visit>
  requires std::same_as<std::remove_const_t<Value>, SplitFactor>
void for_each_handle(Value& factor, Visit&& visit) {
  if (auto* hole = std::get_if<ExprRV>(&factor.value)) visit(*hole);
}

template <>
inline std::string python_type<SplitFactor>() {
  return "ExprRV | Expr | int | None";
}

}  // namespace loopsmith
