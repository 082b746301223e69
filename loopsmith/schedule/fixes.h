// SPDX-License-Identifier: Apache-2.0
// What to do instead of a call that was refused: found by trying.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

/// A call that was refused, and the schedule as it was.
struct RefusedCall {
  const Schedule& schedule;
  const PrimitiveBase& primitive;
  const std::vector<Argument>& arguments;
  const Refusal& refusal;
};

/// Calls that may do what a refused one was to do. What one of them gives is named by handles of
/// schedule 0, which later ones use; all others are of the schedule.
using Repair = std::vector<Step>;

/// The repairs that pass on a copy, at most three, as lines of Python that find each loop and block
/// by its name. None promises anything in the caller's name, not even what the refused call did:
/// which promise would help is said in the hint.
std::vector<std::string> tried_fixes(const RefusedCall& call);

}  // namespace loopsmith
