// SPDX-License-Identifier: Apache-2.0
// Which loops go through memory as one would.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// True when the elements stand one after another, from the start of the memory on.
bool is_compact(const Buffer& buffer);

/// True when all of the loops, outermost first, may be fused into one through which each access
/// walks element by element, or does not move.
bool is_walk(const Nest& nest, std::span<const NestLoop> loops);

/// The first of the loops, outermost first, from which on all of them may be fused into one through
/// which each access walks element by element, or does not move; their number where there are no
/// two such.
///
///     for i, j in n, m: B[i, j] = A[i + 1, j] + c[0]    both walk: B and A have m columns
std::size_t first_of_walk(const Nest& nest, const std::vector<NestLoop>& loops);

}  // namespace loopsmith
