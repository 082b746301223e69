// SPDX-License-Identifier: Apache-2.0
// Which of the loops around a statement should be its innermost one.
#pragma once
#include <cstddef>
#include <span>

#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith::plain_loops {

/// Another order must be that much better, for the model is rough.
inline constexpr double required_gain = 0.8;

/// The cost of an iteration of statements that share a band of loops, one of which is innermost,
/// starting that loop included: in vectors where all of them have that form.
double cost_with_innermost(std::span<const Statement> statements, std::size_t innermost,
                           const Machine& machine);

/// The number of the loop around a statement that should be its innermost one, among those from
/// `first` on.
std::size_t best_innermost(const Statement& statement, std::size_t first, const Machine& machine);

}  // namespace loopsmith::plain_loops
