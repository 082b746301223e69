// SPDX-License-Identifier: Apache-2.0
// Tiles of matrices that warps hold in registers, and the instructions that load and multiply them.
#pragma once
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The attribute around what an instruction does that all threads of a warp run together: `load`,
/// `load_trans`, `store`, `fill` and `mma` of tiles of 16 x 16; `wgmma` of 16 rows by any multiple
/// of 16 columns and steps, which four warps do together. Inside are loops over rows, columns and
/// steps of a sum, which compute the same.
inline constexpr std::string_view warp_instruction = "warp_instruction";

/// For targets without tensor cores: fragments are memory that threads share, and the loops are
/// run. Where a target `has_tensor_cores` nothing changes.
Ptr<PrimFunc> fragments_in_shared_memory(const Ptr<PrimFunc>& func, bool has_tensor_cores);

/// Shares out the elements of tiles to the 32 threads of a warp, each of which has 8 of them, as
/// the instructions do (fragment_layout.h):
///
///     with T.attr(0, "warp_instruction", "load"):    for t in T.thread_binding(32, "threadIdx.x"):
///       for i, j in T.grid(16, 16):                =>  with T.attr(0, "warp_instruction", "load"):
///         D[i, j] = S[i, j]                              for r in range(8):
///                                                          D[row(t, r), column(t, r)] = S[...]
Ptr<PrimFunc> spread_over_warps(const Ptr<PrimFunc>& func);

/// For tensor cores: a thread has its elements of each fragment in an array of its own, products
/// are `ptx_mma`, and loads `ptx_ldmatrix` where rows of 16 bytes are known to be aligned. Runs
/// after `insert_barriers`, which has seen what the loops access.
///
///     with T.attr(0, "warp_instruction", "mma"):
///       for r, k in T.grid(8, 16):                    =>  T.ptx_mma(..., &A[0], &B[0], &C[0])
///         C[row(t, r), column(t, r)] = ...                T.ptx_mma(..., &A[0], &B[4], &C[4])
///
/// Throws a UserError where a fragment is used in another way, or with several layouts.
Ptr<PrimFunc> fragments_in_registers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
