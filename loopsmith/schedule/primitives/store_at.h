// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitives/ring_plan.h"

namespace loopsmith {

struct StoreAtArguments {
  BlockRV block;
  LoopRV loop;
  std::int64_t write_buffer_index = 0;

  static constexpr std::tuple parameters{
      Parameter{"block", &StoreAtArguments::block},
      Parameter{"loop", &StoreAtArguments::loop,
                "Around the block and its consumers: each of its iterations begins with nothing."},
      Parameter{"write_buffer_index", &StoreAtArguments::write_buffer_index,
                "Which of the buffers that the block writes."}};
};

struct StoreAtPlan {
  RollingBufferPlan ring;
};

inline constexpr const Condition* store_at_conditions[] = {
    &block_is_not_root,     &number_is_in_range, &block_is_no_output, &block_has_consumers,
    &readers_read_elements, &storage_is_outside, &window_slides,      &step_keeps_results};

Planned<StoreAtPlan> plan_store_at(const Schedule& schedule, const StoreAtArguments& arguments);

/// for yo, yi:                                 for yo, yi:
///   for ax in 3: B[yo*8 + yi + ax] = ...        for ax in 3: if yi < 1 or 2 <= ax:
///   C[..] = B[yo*8 + yi] + ...            =>      B[(yo*8 + yi + ax) % 3] = ...
///                                               C[..] = B[(yo*8 + yi) % 3] + ...
///
/// Here at loop yo, whose iterations may then run concurrently. Each step is one that the law
/// knows: what was computed before is left out, as far as results stay; then the buffer is mirrored
/// by the smallest ring that holds all that is still read. Cannot fail.
Nothing commit_store_at(Schedule& schedule, StoreAtPlan&& plan);

inline constexpr Primitive store_at(PrimitiveDefinition{
    .name = "store_at",
    .past = "stored",
    .doc = "Keeps of an intermediate buffer, in each iteration of a loop, a ring of what is still "
           "read, and computes each element of it once.",
    .conditions = store_at_conditions,
    .required = 2,
    .plan = plan_store_at,
    .commit = commit_store_at,
});

}  // namespace loopsmith
