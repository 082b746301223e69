// SPDX-License-Identifier: Apache-2.0
// Whether what a block reads is the same at another place.
#pragma once
#include "loopsmith/schedule/block_kinds.h"

namespace loopsmith {

inline constexpr Condition inputs_stay_as_they_are{
    "inputs_stay_as_they_are",
    "{} is written between where block {} reads it and where it would read it then",
    "move the block that writes it first, or keep a copy of it with cache_read"};
inline constexpr Condition statements_are_understood{
    "statements_are_understood",
    "what a call outside of blocks in the scope of block {} does is not known",
    "put the call into a block that declares what it reads and writes"};

/// Refuses where what `block` reads may have other values at `place`, which is after it. Buffers
/// that are written once, by a complete or reduction block before it, have one value.
std::optional<Refusal> refuse_unless_inputs_stay(const Schedule& schedule, BlockRV block,
                                                 const Place& place, const ScopeUses& uses);

/// Refuses where what `block` reads may change from one iteration of the loop `outermost` to the
/// next, so that the block cannot run in others of them.
std::optional<Refusal> refuse_unless_inputs_are_alike(const Schedule& schedule, BlockRV block,
                                                      LoopRV outermost, const ScopeUses& uses);

/// True when a write stores the same each time that the loop `outermost` around it runs it again:
/// it is that of a block, and so is what the block reads and the loop computes.
bool repeats_alike(const Schedule& schedule, const BufferUse& write, NodeId outermost,
                   const ScopeUses& uses);

}  // namespace loopsmith
