// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "loopsmith/tune/model/statements.h"

namespace loopsmith::tune {

inline constexpr double line_bytes = 64;

/// How many bytes of cache lines an access loads in the loops from `depth` on.
double footprint(const Statement& statement, const Access& access, std::size_t depth);

/// How many bytes a statement brings into a cache of some size, in all of its iterations.
///
/// The loops from some depth on fit into the cache; what they meet is brought in once for each
/// iteration of the loops around them, but that an access which the next loop does not move stays.
/// What fits as a whole is taken to be there already, unless the program as a whole does not fit:
/// `program_bytes`.
double traffic(const Statement& statement, double cache_bytes, double program_bytes);

}  // namespace loopsmith::tune
