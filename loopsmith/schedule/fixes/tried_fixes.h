// SPDX-License-Identifier: Apache-2.0
// Calls to make instead of a refused one, found by trying candidates on a copy.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {

/// The fixes that pass on a copy, at most three, as lines of Python that find each loop and block
/// by its name. None of them sets a promise, not even one that the refused call set: the hint says
/// which promise would help.
std::vector<std::string> tried_fixes(const RefusedCall& call);

}  // namespace loopsmith
