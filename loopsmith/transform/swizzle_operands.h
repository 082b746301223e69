// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Lays out tiles in shared memory from which four warps multiply (`ptx_mma` of shape m64n...) as
/// the instruction asks for (PTX ISA, "Matrix descriptor", swizzling of 128 bytes): columns of 64
/// elements of 16 bits one after another, each by rows, whose eight parts of 16 bytes change places
/// from row to row, so that neither rows nor columns lie in few banks:
///
///     S[r, c]   =>   S[c / 64, r, (c % 64 / 8 ^ r % 8) * 8 + c % 8]
///
/// Throws a UserError where a tile is no whole number of such parts.
Ptr<PrimFunc> swizzle_operands(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
