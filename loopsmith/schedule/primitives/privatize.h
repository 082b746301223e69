// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"

namespace loopsmith {

struct PrivatizeArguments {
  LoopRV loop;
  std::optional<BufferSelector> buffer = {};

  static constexpr std::tuple parameters{
      Parameter{"loop", &PrivatizeArguments::loop,
                "Each iteration of which gets a copy of its own."},
      Parameter{"buffer", &PrivatizeArguments::buffer,
                "The name of a buffer that the loop updates, or the buffer. Without it, all those "
                "of which several iterations may update one element."}};
};

/// A buffer that a loop only updates, always by one combiner.
struct UpdatedBuffer {
  Ptr<Buffer> buffer;
  NodeId owner;  ///< What defines it.
  Combiner combiner;
  UsesByBlock uses;           ///< In the loop.
  bool may_be_unset = false;  ///< It may have elements that were never written.
};

struct PrivatizePlan {
  LoopRV loop;
  std::vector<UpdatedBuffer> updated;  ///< None: those that iterations update in common.
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition loop_only_updates{
    "loop_only_updates", "loop {} does not only update {}: {}",
    "distribute the loop first, so that updates of one kind are alone in it"};
inline constexpr Condition loop_updates_in_common{
    "loop_only_updates", "no two iterations of loop {} update one element of a buffer",
    "there is nothing to have copies of; parallelize the loop, or name the buffer"};
inline constexpr const Condition* privatize_conditions[] = {
    &loop_is_plain,    &loop_is_serial,         &step_keeps_results, &iterations_reach_their_end,
    &bounds_are_known, &loop_updates_in_common, &loop_only_updates};

/// What the loop updates of that buffer; a refusal where it does anything else with it.
std::variant<UpdatedBuffer, Refusal> updated_buffer(const Schedule& schedule, LoopRV loop,
                                                    const Ptr<Buffer>& buffer);

Planned<PrivatizePlan> plan_privatize(const Schedule& schedule,
                                      const PrivatizeArguments& arguments);

/// for p in 8:                           for p in 8:
///   for i in 100:                         for ax0 in 256: H_copies[p, ax0] = 0
///     H[A[p, i]] += 1             =>      for i in 100:   H_copies[p, A[p, i]] += 1
///                                       for ax0, ax1 in (256, 8): H[ax0] += H_copies[ax1, ax0]
///
/// Gives the blocks that start the copies and those that merge them, in turn.
Handles<BlockRV> commit_privatize(Schedule& schedule, PrivatizePlan&& plan);

inline constexpr Primitive privatize(PrimitiveDefinition{
    .name = "privatize",
    .past = "privatized",
    .doc = "Gives each iteration of a loop a copy of the buffers that iterations update in common, "
           "also through computed indices, and merges the copies after the loop.",
    .conditions = privatize_conditions,
    .plan = plan_privatize,
    .commit = commit_privatize,
});

}  // namespace loopsmith
