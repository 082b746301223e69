// SPDX-License-Identifier: Apache-2.0
// Products whose sums are variables: acc = 0; for k: acc += A[i, k] * B[k, j]; C[i, j] = acc.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Gives each such variable a place for each iteration of the loops of its product, so that it is
/// one by its strides, as of sums into elements. True when there was one.
bool expand_product_sums(Steps& steps, LoopRV nest, const Machine& machine);

}  // namespace loopsmith::plain_loops
