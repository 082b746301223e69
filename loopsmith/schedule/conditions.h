// SPDX-License-Identifier: Apache-2.0
// Conditions that several primitives share, with what checks them.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition loop_is_plain{
    "loop_is_plain", "loop {} has annotations or is bound to a thread",
    "do this before you annotate or bind it, or unannotate it first"};
inline constexpr Condition loop_runs_to_its_end{
    "loop_runs_to_its_end", "a break leaves loop {}",
    "rewrite the break as a condition on the loop's body"};

inline constexpr Condition iterations_reach_their_end{
    "iterations_reach_their_end", "a {} ends loop {}, or an iteration of it, early",
    "rewrite it as a condition on the rest of the body"};

inline constexpr Condition loop_runs_serially{"loop_runs_serially", "loop {} is not serial",
                                              "do this before you parallelize, vectorize or "
                                              "unroll it"};
inline constexpr Condition extent_is_known_around{
    "extent_is_known_around",
    "the bounds of loop {} are not known where the block around it allocates memory",
    "choose a loop whose bounds are constants or sizes"};

inline constexpr Condition bounds_stay{"bounds_stay",
                                       "the bounds of loop {} read what the body of loop {} writes",
                                       "give them a name before the loop: n = A[0], then range(n)"};

inline constexpr Condition init_can_go_first{
    "init_can_go_first", "the init of block {} cannot go before loop {}, as {}",
    "reorder loops so that those of the reduction are plain and innermost"};

/// Refuses a loop with annotations or a thread.
std::optional<Refusal> refuse_unless_plain(const Schedule& schedule, LoopRV loop);
/// Refuses a loop whose bounds may change when its own body runs, or the body of `other`, a loop
/// around or beside it.
std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop);
std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop,
                                                 LoopRV other);

/// A refusal of a step that was tried on a snapshot, whose loops and blocks nobody else has: it is
/// made one of `loop` instead.
Refusal in_terms_of(LoopRV loop, Refusal refusal);

}  // namespace loopsmith
