// SPDX-License-Identifier: Apache-2.0
// Checks shared by primitives that move or remove blocks.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

inline constexpr Condition block_is_no_output{
    "block_is_no_output", "block {} is an output block of its scope",
    "choose a block that writes only what its scope allocates"};
inline constexpr Condition block_has_consumers{"block_has_consumers",
                                               "no block reads what block {} writes",
                                               "choose a block that others read from"};
inline constexpr Condition loop_is_in_scope{"loop_is_in_scope",
                                            "block {} and loop {} are not in the same scope",
                                            "choose a loop around which the same block is"};
inline constexpr Condition loop_is_not_around{
    "loop_is_not_around", "block {} is inside loop {} already", "choose a loop of another nest"};
inline constexpr Condition block_uses_axes_alone{
    "block_uses_axes_alone", "block {} uses loop {} itself, not through an axis",
    "move the blocks inside it, or give it an axis for the loop"};
inline constexpr Condition consumers_are_in_the_loop{
    "consumers_are_in_the_loop",
    "Not all required blocks are under the loop scope: {} reads what block {} writes, outside of "
    "loop {}",
    "choose a loop around all of them: merge_siblings makes one, or move the others first"};
inline constexpr Condition index_is_possible{
    "number_is_in_range", "index {} in the body of loop {} is not within {} and {}",
    "pass -1 or -2, and the place is found"};

/// Refuses a block around which no other block is.
std::optional<Refusal> refuse_root(const Schedule& schedule, BlockRV block);

/// Refuses a loop that a block cannot move into (of another scope, or around it), and a block that
/// uses its loops directly.
std::optional<Refusal> refuse_place(const Schedule& schedule, BlockRV block, LoopRV loop);

/// Refuses a block without axes that uses a loop around it.
std::optional<Refusal> refuse_loops_in_body(const Schedule& schedule, BlockRV block);

/// Refuses a block that is neither complete nor a reduction.
std::optional<Refusal> refuse_other_kinds(const Schedule& schedule, BlockRV block,
                                          const ScopeAccesses& uses);

/// The number of the statement in a loop's body in which a place is.
std::uint32_t slot_in_loop(const Schedule& schedule, const Place& place, LoopRV loop);

/// How many statements a loop's body has.
std::uint32_t slots_in_loop(const Schedule& schedule, LoopRV loop);

/// The number that `index` means, from `first` to `last`; nullopt when it is beyond these. -1 is
/// `default_value`, -2 the first.
std::optional<std::uint32_t> place_between(std::uint32_t first, std::uint32_t last,
                                           std::int64_t index, std::uint32_t default_value);

/// How to call what stands in a place: a block, or the loop around a statement.
Argument name_of_place(const Schedule& schedule, const Place& place);

}  // namespace loopsmith
