// SPDX-License-Identifier: Apache-2.0
// Which steps reassociate a floating-point reduction, and so change its rounding.
#pragma once
#include <optional>
#include <span>

#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/scope_accesses.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The block, if it reduces floating-point numbers over more than one value.
std::optional<Argument> rounding_reduction(const Schedule& schedule, BlockRV block);

/// The first reduction of floating-point numbers inside a node: a block, or the buffer that
/// statements outside of blocks accumulate in.
std::optional<Argument> rounding_reduction_inside(const Schedule& schedule, NodeId node);

/// True when blocks inside a block, or its statements, reduce floating-point numbers.
bool reduces_rounding_inside(const Block& block);

/// Refuses a block whose terms may read what its updates store, otherwise than as the result that
/// is updated, also through views and pointers. (`loop` is around it.)
///
/// Theorem. Where no access of a block but its updates is to memory that they store to, its terms
/// are the same in whatever order and groups they are combined. Proof: no update changes what a
/// term is made of.
std::optional<Refusal> refuse_terms_of_results(const Schedule& schedule, LoopRV loop,
                                               BlockRV block);

/// Refuses a block that may put terms of several reductions into one element, each with an init.
///
/// Theorem. Where the inits of the block may run before the loop, the terms that an element gets in
/// it are those of one reduction. Proof: an init between two of them would have gone first.
std::optional<Refusal> refuse_mixed_reductions(const Schedule& schedule, LoopRV loop,
                                               BlockRV block);

/// The first reduction by a block in `band` that combines its elements in another order when the
/// loops of the band take the order `order`.
std::optional<Argument> reordered_reduction(const Schedule& schedule, std::span<const LoopRV> band,
                                            std::span<const std::size_t> order);

/// The block, if it is a reduction that the loops around do not run in the order of its axes; or if
/// it accumulates otherwise, several instances, or others of `uses`, in one element.
std::optional<Argument> reduction_out_of_order(const Schedule& schedule, BlockRV block,
                                               const ScopeAccesses& uses);

}  // namespace loopsmith
