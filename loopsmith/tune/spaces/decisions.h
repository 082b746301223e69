// SPDX-License-Identifier: Apache-2.0
// What the samples of a trace have decided, and what they may decide instead.
#pragma once
#include <optional>
#include <random>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

using Decisions = std::vector<Samples::Decision>;

/// What the samples of a trace have decided, in the order of its steps.
Decisions decisions_of(const Trace& trace);

/// The decisions of a trace with one of them changed; nothing where that has no other value. Tiles
/// move a prime factor from one loop to another, as extents keep their product.
std::optional<Decisions> mutated(const Trace& trace, std::mt19937_64& random);

/// Decisions each from one of two traces, as long as those have the same samples.
Decisions crossed(const Trace& first, const Trace& second, std::mt19937_64& random);

}  // namespace loopsmith::tune
