// SPDX-License-Identifier: Apache-2.0
// Bounds of loops that are evaluated where they were not.
#pragma once
#include <optional>
#include <span>

#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition bounds_have_values{
    "bounds_are_known", "the bounds of loop {} may have no value where loop {} has no iteration",
    "compute them before both loops: n = A[0], then range(n)"};

/// True when an expression has a value whatever its variables are.
bool has_value_always(const Expr& expr);

/// Refuses the order `order` of the nested loops `band` where bounds that read memory, or divide,
/// would be evaluated in front of a loop that was around them: where that has no iteration, they
/// were not. They may where all those run, or where no variable makes them read outside of a
/// parameter, or divide by zero.
std::optional<Refusal> refuse_early_bounds(const Schedule& schedule, std::span<const LoopRV> band,
                                           std::span<const std::size_t> order);

}  // namespace loopsmith
