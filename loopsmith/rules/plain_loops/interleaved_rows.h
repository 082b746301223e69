// SPDX-License-Identifier: Apache-2.0
// Rows whose elements wait for those before them, several at a time.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Lets the innermost loops of a nest compute an element of several rows in each step, where an
/// element needs so long from the one before that a core idles meanwhile, and no row needs another.
void interleave_rows(Steps& steps, LoopRV loop, const Machine& machine);

/// The same of rows that need those above, which start as much later as that takes:
///
///     for i, j:                              for i_0, j, i_1 in unrolled(8):
///       A[i, j] = (A[i - 1, j] +        =>     A[i_0 * 8 + i_1, j - i_1] = ...
///                  A[i, j - 1]) / 2
void interleave_sweeps(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
