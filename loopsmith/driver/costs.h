// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// How many floating-point operations a call asks for, as the program is written, before any
/// schedule: sums, products, quotients, extrema, and calls of functions such as `exp`, each one.
/// Where branches differ, the larger one counts. 0: that depends on sizes which are not constant.
double flops_of(const PrimFunc& func);

/// How many bytes the tensors of constant shape have: what a call reads and writes at least.
double bytes_of(const PrimFunc& func);

}  // namespace loopsmith
