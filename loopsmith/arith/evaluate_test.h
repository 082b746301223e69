// SPDX-License-Identifier: Apache-2.0
// What expressions are worth: the oracle of this floor's tests.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith::testing {

/// Values of variables.
using Environment = std::map<const Object*, std::int64_t>;

/// The value of each lane of an integer expression, computed as the interpreter would: index types
/// never overflow, others wrap. Nullopt where it divides by 0 or leaves 64 bits.
std::optional<std::vector<std::int64_t>> evaluate(const Expr& expr, const Environment& values);

/// The value of a scalar.
std::optional<std::int64_t> evaluate_scalar(const Expr& expr, const Environment& values);

}  // namespace loopsmith::testing
