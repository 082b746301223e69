// SPDX-License-Identifier: Apache-2.0
// Loops that read what they have stored some iterations before.
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// How many iterations later, of `least` to `most`, a loop first reads what it has stored; 0:
/// never.
int distance_of_reuse(const For& loop, int least, int most);

/// True when a serial loop of a statement reads what one or two iterations before have stored,
/// which code keeps in registers where nothing else that the loop stores can be it.
bool carries_values(const Stmt& stmt);

}  // namespace loopsmith
