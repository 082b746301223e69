// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Keeps a tile of elements that a loop updates in each iteration in registers while it runs. The
/// loops over the tile are unrolled ones or lanes.
///
///     for k in 64:                                  for i, j of the tile:  tile[i, j] = A[i, j]
///       for i in unroll(4):                         for k in 64:
///         for j in vectorized(8):              =>     for i, j of the tile:
///           A[i, j] = A[i, j] - A[i, k] * A[k, j]       tile[i, j] = tile[i, j] - A[i, k] * A[k,
///           j]
///                                                   for i, j of the tile:  A[i, j] = tile[i, j]
///
/// So of nested loops. Where a nest right before them sets the elements of the tile, and no others,
/// the tile starts with what it sets. Only where nothing else in the loop accesses these elements,
/// as dependence analysis shows of indices that have their dimensions still, and where other
/// buffers are apart. Conditions stay around what they are around, but for those that say nothing
/// of the tile which others do not.
Ptr<PrimFunc> tiles_in_registers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
