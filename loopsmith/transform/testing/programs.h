// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/transform/testing/evaluate.h"

namespace loopsmith::testing {

/// A function of blocks and arguments to run it on.
struct Program {
  Ptr<PrimFunc> func;
  std::vector<TestArgument> arguments;
};

/// A chain of one to three stages over two-dimensional tensors: element-wise, stencils with guards,
/// reductions, products of matrices, conditions; with loops that are split, fused, reordered,
/// vectorized, unrolled or parallel, producers computed where they are consumed, and sizes that are
/// constants or variables. All values are small integers, so that every order of a sum is exact.
Program random_program(std::uint64_t seed);

}  // namespace loopsmith::testing
