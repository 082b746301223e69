// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The function of the host that describes an array and a box of it to the copy engine, and gives
/// where the device finds that: `device.tensor_map(elements, extents..., strides..., box...)`.
inline constexpr std::string_view device_tensor_map = "device.tensor_map";

/// Gives copies of tiles from which four warps multiply to the copy engine (TMA of sm_90), where
/// one thread of each warp copies a part of the tile by itself, asynchronously:
///
///     with T.attr(0, "async_scope", 1):            if t == 0:
///       if t == 0:                           =>      T.dma_copy(S[v, z * 16, 0], A[i, k], map,
///         for r, c in T.grid(16, 64):                           arrived[g % 4], 16, n, k, i)
///           S[v, z * 16 + r, c] = A[i + r, k + c]
///
/// The engine lays tiles out as `swizzle_operands` does. Groups of copies are counted (g) and each
/// has a barrier of its threads and bytes in shared memory (`mbarrier`), of which there is one for
/// each group that may be under way, and one more: the end of a group arrives at it, and a thread
/// that waits for a group waits for its phase. Between a wait and the next use of the same barrier
/// all threads have met, since tiles are written anew after all have read them.
///
/// A launch with any other asynchronous copy stays as it is, and so does an array that the engine
/// cannot take: of one dimension, or whose rows do not begin at multiples of 16 bytes.
Ptr<PrimFunc> copy_tiles(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
