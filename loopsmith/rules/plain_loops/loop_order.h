// SPDX-License-Identifier: Apache-2.0
// Which loop of a nest should be innermost, and the steps that bring it there.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Distributes loops, the inner ones first, where that lets a loop come inside of a statement for
/// which it is the best innermost one. Scalars that stand in the way get a place for each
/// iteration.
void isolate_statements(Steps& steps, LoopRV loop, const Machine& machine);

/// Brings the best loop of each band in the nest inside of the others. True when one was moved.
bool reorder_bands(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
