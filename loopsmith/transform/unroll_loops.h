// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces each loop marked `unrolled` by one copy of its body per iteration.
///
///     for i in unroll(2):             A[0] = 0
///       A[i] = i                =>    A[1] = 1
///
/// So are plain innermost loops under a `pragma_auto_unroll_max_step` of at least as many
/// statements as the copies would have. Under `pragma_unroll_explicit` 0, where the extent is no
/// constant, and where `break` or `continue` leaves an iteration, loops to be unrolled stay, with a
/// word to the code generator, `unroll_later`.
Ptr<PrimFunc> unroll_loops(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
