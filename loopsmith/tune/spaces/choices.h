// SPDX-License-Identifier: Apache-2.0
// What generated spaces are made of: samples.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Numbers of which a sample takes one.
using Candidates = std::vector<std::int64_t>;

/// Partial results of a reduction: whole vectors, one or several.
inline constexpr std::int64_t lane_counts[] = {8, 16, 32, 64, 128};

/// Extents of innermost loops that become vectors, or several.
inline constexpr std::int64_t vector_extents[] = {4, 8, 16, 32, 64};
/// The innermost loop of a tile has no more iterations.
inline constexpr std::int64_t max_innermost = 64;

/// Samples one of some numbers, each with the same chance.
ExprRV sample(Schedule& schedule, Candidates candidates);
/// The number that such a sample has taken.
std::int64_t choose(Schedule& schedule, Candidates candidates);
/// One of `count`, from 0 on.
std::int64_t choose_below(Schedule& schedule, std::int64_t count);
/// Samples whether something happens, with a chance of `in` out of `of`.
bool happens(Schedule& schedule, std::int64_t in, std::int64_t of);

/// Samples one of some rising factors of a split. Those that leave the same one part as a smaller
/// one are no choices; without `extent`, it is not known.
ExprRV sample_factor(Schedule& schedule, std::span<const std::int64_t> candidates,
                     std::optional<std::int64_t> extent);

/// How many parts a split makes of a loop; nothing where that is not constant.
std::optional<std::int64_t> parts_of(std::optional<std::int64_t> extent, std::int64_t factor);

/// How many iterations a loop has; nothing where that is not constant.
std::optional<std::int64_t> constant_extent(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith::tune
