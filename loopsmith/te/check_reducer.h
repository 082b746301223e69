// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith::te {

/// Tries the combiner of a user on small numbers. Stops with a counterexample where it is not
/// associative or not commutative, or where its identity is not neutral. What it cannot compute
/// (a call of a foreign function, a division by zero) it lets pass.
void require_reducer(std::string_view name, const CommReducer& combiner);

}  // namespace loopsmith::te
