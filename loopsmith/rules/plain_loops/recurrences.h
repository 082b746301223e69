// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Runs a nest in threads of which no loop is parallel, because iterations need those before them:
/// a scan in parts, a sweep over two dimensions in tiles along its diagonals. `cycles` is how long
/// the nest takes, about. The nest stays as it is where it is neither, or too short.
void parallelize_recurrence(Steps& steps, LoopRV nest, double cycles, const Machine& machine);

/// How many rows and columns a sweep over two dimensions has at least that tiles along diagonals
/// pay for.
std::vector<std::int64_t> least_sizes_of_sweep();

/// How long a recurrence takes at least for which threads are woken.
double least_cycles_of_recurrence(const Machine& machine);

}  // namespace loopsmith::plain_loops
