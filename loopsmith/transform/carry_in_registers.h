// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Keeps what an innermost loop stores and reads again one or two iterations later in registers.
///
///     for i in n:                      carry = B[0]
///       B[i + 1] = B[i] + A[i]   =>    for i in n:
///                                        next = carry + A[i];  B[i + 1] = next;  carry = next
///
/// An addition then waits for the one before, and not for memory. Only where nothing else that the
/// loop stores meanwhile can be the element: other buffers are apart where the function allocates
/// them, or where `tir.noalias` says so of the function or of a statement around; elements of one
/// buffer where their indices are, as in rows of a sweep that are unrolled. Of rows that are the
/// lanes of a vector, each a column behind the one above, lanes move by one:
///
///     for j in n:                                     for j in n:
///       D[ramp(j, n, 8)] = D[ramp(j - 1 - n, n, 8)]  =>   next = [D[j - 1 - n], carry[0..7]]
///                                                         D[ramp(j, n, 8)] = next;  carry = next
Ptr<PrimFunc> carry_in_registers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
