// SPDX-License-Identifier: Apache-2.0
// Sums of products of small integers, two products an instruction.
#pragma once
#include <optional>

#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// The nest with half as many steps, if it sums products of integers that fit into 16 bits. Each
/// operand is two neighbours along the reduction, in the halves of 32 bits; the product of two of
/// those stands for the sum of the products of their halves:
///
///     for k:  C[i, j] += int32(A[i, k]) * int32(B[k, j])    =>
///     for p:  C[i, j] += pair(A[i, 2 * p], A[i, 2 * p + 1]) * pair(B[2 * p, j], B[2 * p + 1, j])
///
/// Beyond the last step the second of a pair along `vector_axis` is 0.
std::optional<Nest> with_pairs(const Nest& nest, const Axis& vector_axis);

/// `sums` and the products of the halves of `a` and `b`: lanes of int32, by `intrinsic`.
Expr add_pair_products(const DotIntrinsic& intrinsic, const Expr& sums, const Expr& a,
                       const Expr& b);

}  // namespace loopsmith
