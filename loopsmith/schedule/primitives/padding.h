// SPDX-License-Identifier: Apache-2.0
// What padding the axes of a block has to ask, whatever it pads them with.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// True of a list that has one positive number for each axis of the block.
bool is_padding_of(const Block& block, const std::vector<std::int64_t>& factors);
/// Refuses a block that is neither complete nor a reduction in the block around it.
std::optional<Refusal> refuse_other_kinds(const Schedule& schedule, BlockRV block, BlockRV scope);

/// The extent of an axis, rounded up to a multiple; null where it is one.
Expr padded_extent(const IterVar& axis, std::int64_t factor);

/// True when nothing but loops is between the statement `nest` and the block.
bool is_alone_in(const Schedule& schedule, NodeId nest, BlockRV block);

}  // namespace loopsmith
