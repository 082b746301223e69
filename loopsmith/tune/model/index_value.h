// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith::tune {

/// What variables stand for: numbers for loops, expressions for names.
struct Assignment {
  std::vector<std::pair<const Object*, std::int64_t>> numbers;
  std::vector<std::pair<const Object*, Expr>> names;
  std::int64_t size = 256;  ///< Of each variable that has no number: a symbolic size.
};

/// The value of an integer or a condition; nothing where memory or a call decides, or where it
/// divides by 0. Sums may wrap: the value is for estimates.
std::optional<std::int64_t> value_of(const Expr& expr, const Assignment& assignment);

}  // namespace loopsmith::tune
