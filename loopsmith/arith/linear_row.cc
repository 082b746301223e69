// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/linear_row.h"

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith::arith {

std::optional<LinearRow> linear_row(const Expr& relation, std::span<const Ptr<Var>> variables) {
  const auto comparison = comparison_of(relation);
  if (!comparison) return {};
  Expr difference = comparison->left - comparison->right;
  if (comparison->is_strict) difference = difference + const_of(difference.dtype(), 1);
  const std::vector<Expr> line = detect_linear_equation(difference, variables);
  if (line.empty()) return {};
  LinearRow row;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::int64_t* coefficient = as_int(line[i]);
    if (!coefficient) return {};
    row.coefficients.push_back(*coefficient);
  }
  row.base = line.back();
  row.is_equality = comparison->is_equality;
  return row;
}

std::int64_t combined(std::int64_t a, std::int64_t x, std::int64_t b, std::int64_t y) {
  const __int128 result = static_cast<__int128>(a) * x + static_cast<__int128>(b) * y;
  const auto value = static_cast<std::int64_t>(result);
  require(value == result, "coefficients_fit_64_bits", hint("use smaller coefficients"),
          "solve: a coefficient leaves 64 bits");
  return value;
}

Ptr<Range> range_of(const IntConstraints& system, std::size_t variable) {
  return variable < system.ranges.size() ? system.ranges[variable] : nullptr;
}

std::vector<Expr> relations_of(const Expr& value, const Range& range) {
  return {range.min <= value, value < range.min + range.extent};
}

}  // namespace loopsmith::arith
