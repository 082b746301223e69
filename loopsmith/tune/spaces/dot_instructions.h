// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Computes a reduction by a tensor intrinsic that adds products into a vector of results, if one
/// has its types, and the sample says so: sizes are padded to whole tiles, the operand with a value
/// for each result is copied in the layout of tiles, and rows of tiles share what is loaded. True
/// when it did; loops of the block are others then. Processors without the instruction compute what
/// it means.
bool use_dot_instruction(Schedule& schedule, BlockRV block, bool is_parallel);

}  // namespace loopsmith::tune
