// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/intrinsics/tensor_intrin.h"

namespace loopsmith {

/// Tensor intrinsics of the tensor cores of NVIDIA's GPUs, sm_80 and later: tiles of 16 x 16 that
/// a warp loads into fragments, multiplies, adds to, and stores. Named as the field does:
///
///     wmma_load_16x16x16_{f16,bf16,s8,tf32}_{a,b}[_trans]_{shared,shared_dyn}
///     wmma_fill_16x16x16_{f32,f16,s32}
///     wmma_sync_16x16x16_{f16f16f32,f16f16f16,bf16bf16f32,s8s8s32,tf32tf32f32}[_trans,...]
///     wmma_store_16x16x16_{f32,f16,s32}_{shared,shared_dyn,global}
///
/// Each implementation is the loops of its description under a mark, `warp_instruction`, that says
/// which instruction does the same, but that of `tf32`, which rounds operands of float32 to 11
/// bits: to name it is to allow that. What has no tensor cores runs the loops.
const std::vector<BuiltinIntrin>& tensor_core_intrins();

}  // namespace loopsmith
