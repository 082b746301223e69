// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"

namespace loopsmith {

struct ReverseComputeAtArguments {
  BlockRV block;
  ComputeLocation loop;
  bool preserve_unit_loops = false;
  std::int64_t index = -1;

  static constexpr std::tuple parameters{
      Parameter{"block", &ReverseComputeAtArguments::block},
      Parameter{"loop", &ReverseComputeAtArguments::loop},
      Parameter{"preserve_unit_loops", &ReverseComputeAtArguments::preserve_unit_loops,
                "Whether new loops of one iteration are kept."},
      Parameter{"index", &ReverseComputeAtArguments::index,
                "The place in the loop's body: -1 as late as possible, -2 as early as possible, or "
                "the number of the statement before which it goes."}};
};

inline constexpr Condition producers_are_in_the_loop{
    "producers_are_in_the_loop",
    "Not all required blocks are under the loop scope: nothing that block {} reads is written "
    "inside loop {}",
    "choose a loop around a block that it reads from"};
inline constexpr const Condition* reverse_compute_at_conditions[] = {
    &block_is_not_root,         &loop_is_in_scope,  &loop_is_not_around, &block_uses_axes_alone,
    &producers_are_in_the_loop, &index_is_possible, &step_keeps_results, &instances_are_known};

/// What computing at a loop, or at a mark of sample_compute_location, means.
using ReverseComputeAtPlan = std::variant<MovePlan, ProducerConsumerPair, Nothing>;

Planned<ReverseComputeAtPlan> plan_reverse_compute_at(const Schedule& schedule,
                                                      const ReverseComputeAtArguments& arguments);

/// for i, j: B[i, j] = A[i, j]          for i:
/// for i, j: C[i, j] = B[i, j]    =>      for j: B[i, j] = A[i, j]
///                                        for ax0: C[i, ax0] = B[i, ax0]
///
/// Each iteration runs the instances of the block whose inputs it computes. A reader of neighbours
/// lags behind, and the loop goes on for it:
///
/// for i in n: B[i] = A[i]               for i in n + 1:
/// for i in n:                             if i < n: B[i] = A[i]
///   C[i] = B[i] + B[min(i+1, n-1)]  =>    if i >= 1: C[i-1] = B[i-1] + B[min(i, n-1)]
///
/// Cannot fail.
Nothing commit_reverse_compute_at(Schedule& schedule, ReverseComputeAtPlan&& plan);

inline constexpr Primitive reverse_compute_at(PrimitiveDefinition{
    .name = "reverse_compute_at",
    .past = "moved",
    .doc =
        "Moves a block into a loop of its producers: each iteration uses what it computes, and a "
        "reader of neighbours what those before did, behind which it lags.",
    .conditions = reverse_compute_at_conditions,
    .required = 2,
    .plan = plan_reverse_compute_at,
    .commit = commit_reverse_compute_at,
});

}  // namespace loopsmith
