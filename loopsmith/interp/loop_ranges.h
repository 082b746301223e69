// SPDX-License-Identifier: Apache-2.0
// Between which constants expressions lie while loops run through parts of their ranges. Private to
// the floor.
#pragma once
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/expr.h"

namespace loopsmith::interp {

/// What the variables of a program are: loops, by their numbers, or names for values.
struct KnownVariables {
  std::unordered_map<const Object*, std::size_t> loops;
  std::unordered_map<const Object*, Expr> values;
};

/// The values that the variable of each loop takes.
using LoopRanges = std::vector<ConstIntBound>;

/// Between which constants an integer lies; of a vector, all its lanes.
ConstIntBound bounds_of(const Expr& expr, const KnownVariables& known, const LoopRanges& ranges);

/// Takes iterations out of `ranges` for which a scalar cannot lie in `wanted`. False when none are
/// left.
bool narrow(const Expr& expr, const ConstIntBound& wanted, const KnownVariables& known,
            LoopRanges& ranges);

}  // namespace loopsmith::interp
