// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct PrefetchArguments {
  BlockRV block;
  BufferSelector read_buffer_index;
  LoopRV loop;
  std::int64_t offset = 1;

  static constexpr std::tuple parameters{
      Parameter{"block", &PrefetchArguments::block},
      Parameter{"read_buffer_index", &PrefetchArguments::read_buffer_index,
                "The buffer: its number among the reads of the block, or its name."},
      Parameter{"loop", &PrefetchArguments::loop, "A loop around the block."},
      Parameter{"offset", &PrefetchArguments::offset, "How many iterations of the loop ahead."}};
};

struct PrefetchPlan {
  LoopRV loop;
  Ptr<Buffer> buffer;
  std::vector<Ptr<Range>> bounds;
};

inline constexpr const Condition* prefetch_conditions[] = {&block_has_the_buffer,
                                                           &loop_is_around_block};

Planned<PrefetchPlan> plan_prefetch(const Schedule& schedule, const PrefetchArguments& arguments);

/// for i:                          for i:
///   for k: B[i] += A[i, k]    =>    prefetch A[i + 1, 0:n]
///                                   for k: B[i] += A[i, k]
///
/// Each iteration asks for what a later one reads. It changes no result. Cannot fail.
Nothing commit_prefetch(Schedule& schedule, PrefetchPlan&& plan);

inline constexpr Primitive prefetch(PrimitiveDefinition{
    .name = "prefetch",
    .doc =
        "Asks in each iteration of a loop for what a block reads some iterations later. Steps that "
        "give the buffer another layout or scope follow; where the buffer is inlined, the "
        "prefetch goes with it.",
    .conditions = prefetch_conditions,
    .required = 3,
    .keeps_accesses = true,
    .plan = plan_prefetch,
    .commit = commit_prefetch,
});

}  // namespace loopsmith
