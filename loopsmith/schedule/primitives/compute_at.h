// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/rewrites/places.h"
#include "loopsmith/schedule/rewrites/required_instances.h"
#include "loopsmith/schedule/rewrites/skewed_consumer.h"

namespace loopsmith {

struct ComputeAtArguments {
  BlockRV block;
  ComputeLocation loop;
  bool preserve_unit_loops = false;
  std::int64_t index = -1;

  static constexpr std::tuple parameters{
      Parameter{"block", &ComputeAtArguments::block}, Parameter{"loop", &ComputeAtArguments::loop},
      Parameter{"preserve_unit_loops", &ComputeAtArguments::preserve_unit_loops,
                "Whether new loops of one iteration are kept."},
      Parameter{"index", &ComputeAtArguments::index,
                "The place in the loop's body: -1 as late as possible, -2 as early as possible, or "
                "the number of the statement before which it goes."}};
};

/// A block that goes to a place in a loop.
struct MovePlan {
  BlockRV block;
  LoopRV loop;
  std::uint32_t place;
  RequiredInstances instances;
  bool preserve_unit_loops;
  std::optional<Argument> reordered_reduction = {};
  std::vector<LoopExtension> extensions = {};
  std::optional<Preservation> preservation = {};
};

inline constexpr const Condition* compute_at_conditions[] = {
    &block_is_not_root,  &loop_is_in_scope,    &loop_is_not_around,        &block_uses_axes_alone,
    &block_is_no_output, &block_has_consumers, &consumers_are_in_the_loop, &index_is_possible,
    &step_keeps_results, &instances_are_known};

/// What computing at a loop, or at a mark of sample_compute_location, means.
using ComputeAtPlan = std::variant<MovePlan, ComputeInlinePlan, Nothing>;

/// Moves the block. Cannot fail.
void commit_move(Schedule& schedule, MovePlan&& plan);

Planned<ComputeAtPlan> plan_compute_at(const Schedule& schedule,
                                       const ComputeAtArguments& arguments);

/// for i, j: B[i, j] = A[i, j]          for i:
/// for i, j: C[i, j] = B[i, j]    =>      for ax0: B[i, ax0] = A[i, ax0]
///                                        for j: C[i, j] = B[i, j]
///
/// The block computes in each iteration what the consumers there read. Cannot fail.
Nothing commit_compute_at(Schedule& schedule, ComputeAtPlan&& plan);

inline constexpr Primitive compute_at(PrimitiveDefinition{
    .name = "compute_at",
    .past = "moved",
    .doc = "Moves a block into a loop of its consumers: each iteration computes what it reads.",
    .conditions = compute_at_conditions,
    .required = 2,
    .plan = plan_compute_at,
    .commit = commit_compute_at,
});

}  // namespace loopsmith
