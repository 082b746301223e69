// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/places.h"
#include "loopsmith/schedule/rewrites/producer_consumer_inlining.h"

namespace loopsmith {

struct ReverseComputeInlineArguments {
  BlockRV block;

  static constexpr std::tuple parameters{Parameter{"block", &ReverseComputeInlineArguments::block}};
};

inline constexpr const Condition* reverse_compute_inline_conditions[] = {
    &block_is_not_root,  &block_is_complete,     &block_has_no_init,    &body_is_one_store,
    &step_keeps_results, &one_input_is_computed, &producer_is_alone,    &reads_one_element,
    &indices_tell_axes,  &instances_are_known,   &block_uses_axes_alone};

Planned<ProducerConsumerPair> plan_reverse_compute_inline(
    const Schedule& schedule, const ReverseComputeInlineArguments& arguments);

/// for i: B[i] = A[i] + 1        for i: C[i] = (A[i] + 1) * 2
/// for i: C[i] = B[i] * 2   =>
///
/// The producer does what the block did. Instances of it of which the block read nothing do not run
/// any more. Cannot fail.
Nothing commit_reverse_compute_inline(Schedule& schedule, ProducerConsumerPair&& plan);

inline constexpr Primitive reverse_compute_inline(PrimitiveDefinition{
    .name = "reverse_compute_inline",
    .past = "inlined",
    .doc = "Lets the producer of a block do what the block does, and takes the block away.",
    .conditions = reverse_compute_inline_conditions,
    .plan = plan_reverse_compute_inline,
    .commit = commit_reverse_compute_inline,
});

}  // namespace loopsmith
