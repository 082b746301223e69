// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/inline_value.h"
#include "loopsmith/schedule/rewrites/places.h"

namespace loopsmith {

struct ComputeInlineArguments {
  BlockRV block;

  static constexpr std::tuple parameters{Parameter{"block", &ComputeInlineArguments::block}};
};

struct ComputeInlinePlan {
  BlockRV block;
  ElementValue element;  ///< Of no buffer where no statement reads what the block writes.
  std::vector<Place> readers;
};

inline constexpr ResultChange what_is_read_is_written{
    LegalityQuestion::cover, false, "block {} does not write all of {} that is read",
    "let it write each element that others read"};
inline constexpr const Condition* compute_inline_conditions[] = {
    &block_is_not_root,     &block_is_no_output,  &block_is_complete,    &block_has_no_init,
    &body_is_one_store,     &step_keeps_results,  &indices_tell_axes,    &block_has_consumers,
    &readers_read_elements, &instances_are_known, &block_uses_axes_alone};

Planned<ComputeInlinePlan> plan_compute_inline(const Schedule& schedule,
                                               const ComputeInlineArguments& arguments);

/// for i: B[i] = A[i] + 1        for i: C[i] = (A[i] + 1) * 2
/// for i: C[i] = B[i] * 2   =>
///
/// B is gone. Whoever reads it computes it. A block whose results no statement reads is taken away.
Nothing commit_compute_inline(Schedule& schedule, ComputeInlinePlan&& plan);

inline constexpr Primitive compute_inline(PrimitiveDefinition{
    .name = "compute_inline",
    .past = "inlined",
    .doc = "Computes what a block stores where it is read, and takes the block away.",
    .conditions = compute_inline_conditions,
    .plan = plan_compute_inline,
    .commit = commit_compute_inline,
});

}  // namespace loopsmith
