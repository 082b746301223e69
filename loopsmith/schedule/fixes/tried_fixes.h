// SPDX-License-Identifier: Apache-2.0
// What to do instead of a call that was refused: found by trying.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {

/// The repairs that pass on a copy, at most three, as lines of Python that find each loop and block
/// by its name. None promises anything in the caller's name, not even what the refused call did:
/// which promise would help is said in the hint.
std::vector<std::string> tried_fixes(const RefusedCall& call);

}  // namespace loopsmith
