// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <unordered_map>

#include "loopsmith/ir/expr.h"

namespace loopsmith::arith {

/// The values from `min` to `max`, both included.
struct Interval {
  Expr min;
  Expr max;
};

/// What variables run through; nullopt where that is not known.
using Intervals = std::unordered_map<Ref, std::optional<Interval>, RefHash, RefEqual>;

/// An interval that holds all values of an integer expression while the variables of `ranges` run
/// through theirs; nullopt where none is known. Free of those variables.
std::optional<Interval> relax(const Expr& expr, const Intervals& ranges);

}  // namespace loopsmith::arith
