// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct SampleComputeLocationArguments {
  BlockRV block;
  std::optional<std::int64_t> decision = {};

  static constexpr std::tuple parameters{
      Parameter{"block", &SampleComputeLocationArguments::block},
      Parameter{"decision", &SampleComputeLocationArguments::decision,
                "-2: inlined; -1: where it is; else the number of a loop around its first "
                "consumer. One that is not possible stands for the largest one below."}};
};

/// Where a block might be computed. Whether it may be is asked of those that are drawn.
struct SampleComputeLocationPlan {
  struct Candidate {
    std::int64_t decision;
    std::optional<LoopRV> loop;
  };
  BlockRV block;
  std::vector<Candidate> candidates;  ///< By their decisions.
  std::optional<std::int64_t> decision;
  std::shared_ptr<const Schedule> before;
};

Planned<SampleComputeLocationPlan> plan_sample_compute_location(
    const Schedule& schedule, const SampleComputeLocationArguments& arguments);

/// Gives a loop for `compute_at`, or a mark that it understands: to inline the block, to leave it.
LoopRV commit_sample_compute_location(Schedule& schedule, SampleComputeLocationPlan&& plan);

inline constexpr Primitive sample_compute_location(PrimitiveDefinition{
    .name = "sample_compute_location",
    .doc = "Chooses a place at which a block may be computed, each with the same chance.",
    .pure = true,
    .plan = plan_sample_compute_location,
    .commit = commit_sample_compute_location,
});

}  // namespace loopsmith
