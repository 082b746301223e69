// SPDX-License-Identifier: Apache-2.0
// Whether an iteration of a loop produces the final values of a whole rectangular region.
#pragma once
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

/// A term of a mixed-radix sum: a loop of `count` iterations, scaled by `weight`.
struct RadixTerm {
  std::int64_t weight;
  std::int64_t count;
};

/// How many neighbours a sum of digits of windows of `width` reaches without a gap; nothing when
/// there is one. `exact`: each of them once.
std::optional<std::int64_t> reach_of(std::vector<RadixTerm> digits, std::int64_t width, bool exact);

/// True when an iteration of the loop computes every element of a box, and their values are final.
bool finishes_in_an_iteration(const Schedule& schedule, const BufferAccess& use, LoopRV loop,
                              const ScopeAccesses& uses);

}  // namespace loopsmith
