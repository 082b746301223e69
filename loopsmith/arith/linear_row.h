// SPDX-License-Identifier: Apache-2.0
// Relations as rows of integer coefficients. Private to this floor.
#pragma once
#include <optional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/int_constraints.h"

namespace loopsmith::arith {

/// The sum of coefficients times variables and `base`: 0, or at most 0.
struct LinearRow {
  std::vector<std::int64_t> coefficients;
  Expr base;
  bool is_equality = false;
};

/// A comparison as a row; nullopt where it is not linear, or a coefficient is no constant.
std::optional<LinearRow> linear_row(const Expr& relation, std::span<const Ptr<Var>> variables);

/// a * x + b * y. Throws a UserError where a number leaves 64 bits.
std::int64_t combined(std::int64_t a, std::int64_t x, std::int64_t b, std::int64_t y);

/// The range of a variable of the system; null where none is known.
Ptr<Range> range_of(const IntConstraints& system, std::size_t variable);

/// The conditions min <= value and value <= last of a range.
std::vector<Expr> relations_of(const Expr& value, const Range& range);

}  // namespace loopsmith::arith
