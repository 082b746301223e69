// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "loopsmith/ir/expr.h"

namespace loopsmith::te {

/// A number: `whole` for integers and bools, `real` for floating-point types.
struct Number {
  bool is_real = false;
  std::int64_t whole = 0;
  double real = 0;
};

/// Numbers of variables.
using Numbers = std::unordered_map<const Object*, Number>;

/// The value of a scalar expression over numbers, floats in double precision; none where it has a
/// variable without a number, reads memory, calls what is not known here, or divides by zero.
std::optional<Number> evaluate(const Expr& expr, const Numbers& variables);

}  // namespace loopsmith::te
