// SPDX-License-Identifier: Apache-2.0
// Conditions that several primitives share, with what checks them.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

// ---- What arguments are ----

inline constexpr Condition number_is_in_range{
    "number_is_in_range", "{} is {}, not within {} and {}", "pass a number of that range"};

// ---- How loops stand ----

inline constexpr Condition nest_is_perfect{
    "nest_is_perfect", "loop {} holds more than the next loop",
    "move what else is in the loop elsewhere, or reorder only the loops below it"};
inline constexpr Condition bounds_are_known{"bounds_are_known",
                                            "the bounds of loop {} are not known {}",
                                            "choose a loop whose bounds are constants or sizes"};
inline constexpr Condition loop_is_serial{"loop_is_serial", "loop {} is {}, not serial",
                                          "do this before you parallelize, vectorize or unroll it"};

inline constexpr Condition loop_is_plain{
    "loop_is_plain", "loop {} has annotations or is bound to a thread",
    "do this before you annotate or bind it, or unannotate it first"};

inline constexpr Condition iterations_reach_their_end{
    "iterations_reach_their_end", "a {} ends loop {}, or an iteration of it, early",
    "rewrite it as a condition on the rest of the body"};

inline constexpr Condition loop_is_around_block{
    "loop_is_around_block", "loop {} is not around block {}", "choose one of get_loops(block)"};
inline constexpr Condition loop_is_around_loop{"loop_is_around_loop",
                                               "loop {} is not around loop {}",
                                               "give loops of one nest, outermost first"};

inline constexpr Condition bounds_read_no_memory{"bounds_are_known",
                                                 "the bounds of loop {} read memory",
                                                 "read them before: n = A[0], then range(n)"};

inline constexpr ResultChange bounds_stay{
    LegalityQuestion::order, false, "the bounds of loop {} read what the body of loop {} writes",
    "give them a name before the loop: n = A[0], then range(n)"};

inline constexpr Condition buffer_is_used_by_index{
    "buffer_is_used_by_index", "buffer {} is reached through its pointer or a match_buffer",
    "do this before you tensorize"};

inline constexpr Condition buffer_is_allocated{
    "buffer_is_allocated", "buffer {} is not allocated by a block",
    "pass an intermediate buffer; parameters are given by the caller, views follow their source"};

inline constexpr Condition buffer_is_allocated_around{
    "buffer_is_allocated_around", "no buffer {} is allocated around loop {}, or in it",
    "pass the name of an intermediate buffer or a variable, and a loop that uses it"};

inline constexpr Condition nest_has_one_block{"nest_is_perfect",
                                              "loop {} has {} blocks inside, not one",
                                              "choose a loop around one block, or pass the blocks"};

inline constexpr ResultChange block_has_no_effects{
    LegalityQuestion::repeat, false, "block {} asserts, or calls what may have effects",
    "keep the block as it is: its calls would be made more often, or less"};

inline constexpr ResultChange init_can_go_first{
    LegalityQuestion::order, false, "the init of block {} cannot go before loop {}, as {}",
    "reorder loops so that those of the reduction are plain and innermost"};

/// Refuses a loop with annotations or a thread.
std::optional<Refusal> refuse_unless_plain(const Schedule& schedule, LoopRV loop);
/// Refuses a loop whose bounds may change when its own body runs, or the body of `other`, a loop
/// around or beside it.
std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop);
std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop,
                                                 LoopRV other);

/// A refusal of a step that was tried on a snapshot, whose loops and blocks the caller does not
/// have: it is made one of `loop` instead.
Refusal in_terms_of(LoopRV loop, Refusal refusal);
inline constexpr Condition value_is_of_sizes{
    "argument_has_type", "{} of loop {} is {}, which reads {}, no size of the function",
    "use numbers, parameters, and sizes of buffers that are parameters"};
inline constexpr Condition index_map_fits{"arguments_fit",
                                          "the index map takes {} indices, {} {} has {} {}",
                                          "take one index for each of them"};
inline constexpr Condition loops_are_given{"arguments_fit",
                                           "{} loops are given, {} or more are needed",
                                           "give them outermost first, or nests in their order"};
inline constexpr Condition nest_is_of_block_alone{
    "nest_is_perfect", "block {} is not alone in the loops around it",
    "do this before anything is computed at these loops, or let others leave them first"};

}  // namespace loopsmith
