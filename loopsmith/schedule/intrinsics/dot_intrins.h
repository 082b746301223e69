// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/intrinsics/tensor_intrin.h"

namespace loopsmith {

/// Tensor intrinsics of processors that sum neighbouring products in each lane: `n` results, each a
/// sum of `d` products of A, of `d` elements, by as many of B, of `n * d` elements, one lane's
/// after another's. Named by n x d and the operands:
///
///     dot_{16,8}x4_{u8i8,i8i8,i8u8}_vnni
///     dot_{16,8}x8_i8i8_vnni                  (B of two rows, for four of the products each)
///     dot_{16,8}x2_bf16bf16_avx512bf16
///
/// Sums of bytes are exact. The instruction takes unsigned bytes by signed ones: of two signed
/// operands, 128 is added to those of A, and 128 times those of B taken off.
const std::vector<BuiltinIntrin>& dot_intrins();

}  // namespace loopsmith
