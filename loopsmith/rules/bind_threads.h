// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"

namespace loopsmith {

/// Binds the nests of a function without a schedule to the blocks and threads of a GPU, by steps
/// of a schedule:
///
/// - What is not reduced: all points in one line, 256 of them a block.
/// - Products, of which each operand lacks an axis: tiles of 16 x 16 results, and of the operands
/// in
///   shared memory.
/// - Long reductions to few results: a block for each, whose threads add up parts.
/// - What dependences do not let run at once stays in order, in one thread if need be.
///
/// Stages of elements are computed where they are read. Functions that have bound loops, or say
/// `tir.is_scheduled`, stay as they are.
Ptr<PrimFunc> bind_threads(const Ptr<PrimFunc>& func, const GpuLimits& limits);

}  // namespace loopsmith
