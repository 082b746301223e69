// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes a transpose in registers of a vectorized loop right inside another one where a load is
/// contiguous along the outer one, whose lanes would be gathered element by element.
///
///     for i in vectorized(8):                 row0 = A[x : x + 8]   ...   row7 = A[x + 7*m : ...]
///       for j in vectorized(8):               t0, ..., t7 = log2(8) rounds of shuffles of pairs
///         B[i*n + j] = A[x + j*m + i]  =>     A_tile[0:8] = t0      ...   A_tile[56:64] = t7
///                                             for i in unrolled(8):
///                                               for j in vectorized(8):
///                                                 B[i*n + j] = A_tile[i*8 + j]
///
/// The tile is cut into squares of the largest power of two lanes that divides both extents and
/// that a vector of `vector_bits` holds. Under a condition the same is done where it holds in all
/// of the tile, which is asked once; so is whether a minimum in an index changes nothing there.
/// Loads of what the loops store, and those that a choice guards, stay where they are.
///
/// A copy of a tile that one vector holds, into neighbours, is one shuffle of its rows; one of a
/// few rows, each in a vector, as many:
///
///     for i in vectorized(16):            row0, row1, row2 = A[y : y + 16], A[y + m : ...], ...
///       for j in vectorized(3):           B[x : x + 16] = shuffle of row0, row1, row2
///         B[x + i*3 + j] = A[y + j*m + i]  =>   B[x + 16 : x + 32] = ...
Ptr<PrimFunc> transpose_in_registers(const Ptr<PrimFunc>& func, int vector_bits);

}  // namespace loopsmith
