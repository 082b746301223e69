// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/program.h"

namespace loopsmith {

/// Puts the value of a local buffer in the place of its loads, where each element is computed from
/// its index alone and computing it again costs less than memory does; the nest that filled the
/// buffer goes.
///
/// B[i] = A[i] + 1;  C[i] = B[i] * 2    =>    C[i] = (A[i] + 1) * 2
void inline_elementwise(Program& program);

}  // namespace loopsmith
