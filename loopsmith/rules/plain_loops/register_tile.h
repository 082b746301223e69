// SPDX-License-Identifier: Apache-2.0
// Nests that add up into the same elements again and again, by tiles that stay in registers.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Tiles the bands in a nest that are products. True when there was one.
///
///     for i, k, j:                           for i_block, k_block, j0, i0, k1:
///       C[i, j] += A[i, k] * B[k, j]   =>      for i1 in unrolled(rows), j1 in
///       vectorized(columns):
///                                                C[...] += A[...] * B[...]
///
/// The tile of C stays in registers while k1 runs, the columns of B in the first cache while i0
/// runs, the rows of A in the second one while j0 runs.
bool tile_products(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
