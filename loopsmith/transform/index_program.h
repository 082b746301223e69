// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// An integer expression without memory, ready to be evaluated many times.
class IndexProgram {
 public:
  /// The numbers of variables among the values that `evaluate` is given.
  using Slots = std::unordered_map<const Object*, std::size_t>;

  /// Nullopt for an expression with anything but integers, arithmetic and known variables.
  static std::optional<IndexProgram> compile(const Expr& expr, const Slots& slots);

  /// Its value; nullopt where it divides by 0 or does not fit 64 bits.
  std::optional<std::int64_t> evaluate(std::span<const std::int64_t> values) const;

 private:
  enum class Code : std::uint8_t {
    constant,
    variable,
    add,
    subtract,
    multiply,
    floor_divide,
    floor_modulo,
    minimum,
    maximum,
    equal,
    unequal,
    less,
    less_or_equal,
    both,
    either,
    negation
  };
  struct Step {
    Code code;
    std::int64_t number = 0;  ///< The constant, or the number of the variable.
  };

  bool append(const Expr& expr, const Slots& slots);
  template <class Node>
  bool append_if(const Expr& expr, const Slots& slots, Code code, bool is_turned = false);

  std::vector<Step> steps_;  ///< In postfix order.
};

}  // namespace loopsmith
