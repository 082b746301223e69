// SPDX-License-Identifier: Apache-2.0
// Numbers that a schedule chooses: holes, which a search fills otherwise.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct SampleCategoricalArguments {
  std::vector<std::int64_t> candidates;
  std::vector<double> probs;
  std::optional<std::int64_t> decision = {};

  static constexpr std::tuple parameters{
      Parameter{"candidates", &SampleCategoricalArguments::candidates},
      Parameter{"probs", &SampleCategoricalArguments::probs, "The weight of each candidate."},
      Parameter{"decision", &SampleCategoricalArguments::decision,
                "Which one to take, by its place; None: draw one."}};
};

struct SamplePerfectTileArguments {
  LoopRV loop;
  std::int64_t n = 0;
  std::int64_t max_innermost_factor = 16;
  std::optional<std::vector<std::int64_t>> decision = {};

  static constexpr std::tuple parameters{
      Parameter{"loop", &SamplePerfectTileArguments::loop},
      Parameter{"n", &SamplePerfectTileArguments::n, "How many factors."},
      Parameter{"max_innermost_factor", &SamplePerfectTileArguments::max_innermost_factor,
                "The largest last factor; -1: any."},
      Parameter{"decision", &SamplePerfectTileArguments::decision,
                "The factors; those that do not divide the extent are replaced by divisors."}};
};

struct SamplePartitionedTileArguments {
  LoopRV loop;
  std::int64_t n = 0;
  std::int64_t partition_pos = 0;
  std::int64_t innerpart_factor = 1;
  std::optional<std::vector<std::int64_t>> decision = {};

  static constexpr std::tuple parameters{
      Parameter{"loop", &SamplePartitionedTileArguments::loop},
      Parameter{"n", &SamplePartitionedTileArguments::n, "How many factors."},
      Parameter{"partition_pos", &SamplePartitionedTileArguments::partition_pos,
                "Where the inner part starts."},
      Parameter{"innerpart_factor", &SamplePartitionedTileArguments::innerpart_factor,
                "What the product of the inner part is a multiple of."},
      Parameter{"decision", &SamplePartitionedTileArguments::decision,
                "The factors; those that do not divide the extent are replaced by divisors."}};
};

struct SampleCategoricalPlan {
  std::vector<std::int64_t> candidates;
  std::vector<double> probs;
  std::optional<std::int64_t> decision;
};

struct SampleTilePlan {
  std::int64_t extent;  ///< 0: not constant, or not divisible: nothing can be chosen.
  std::int64_t count;
  std::int64_t max_innermost;
  std::int64_t partition;
  std::int64_t inner_factor;
  std::optional<std::vector<std::int64_t>> decision;
};

inline constexpr Condition each_candidate_has_a_weight{
    "arguments_fit", "{} candidates and {} probabilities are given",
    "give one probability for each candidate, none negative and not all 0"};
inline constexpr Condition factors_can_be_chosen{
    "arguments_fit", "{} factors of loop {} cannot be chosen",
    "ask for at least 1, or 2 where the innermost is limited, and give that many decisions"};
inline constexpr const Condition* sample_categorical_conditions[] = {&each_candidate_has_a_weight,
                                                                     &number_is_in_range};
inline constexpr const Condition* sample_tile_conditions[] = {&factors_can_be_chosen};

Planned<SampleCategoricalPlan> plan_sample_categorical(const Schedule& schedule,
                                                       const SampleCategoricalArguments& arguments);
ExprRV commit_sample_categorical(Schedule& schedule, SampleCategoricalPlan&& plan);
Planned<SampleTilePlan> plan_sample_perfect_tile(const Schedule& schedule,
                                                 const SamplePerfectTileArguments& arguments);
Planned<SampleTilePlan> plan_sample_partitioned_tile(
    const Schedule& schedule, const SamplePartitionedTileArguments& arguments);
Handles<ExprRV> commit_sample_tile(Schedule& schedule, SampleTilePlan&& plan);

inline constexpr Primitive sample_categorical(PrimitiveDefinition{
    .name = "sample_categorical",
    .doc = "Chooses one of several numbers by their weights.",
    .conditions = sample_categorical_conditions,
    .required = 2,
    .pure = true,
    .plan = plan_sample_categorical,
    .commit = commit_sample_categorical,
});

inline constexpr Primitive sample_perfect_tile(PrimitiveDefinition{
    .name = "sample_perfect_tile",
    .doc = "Chooses factors whose product is the extent of a loop.",
    .conditions = sample_tile_conditions,
    .required = 2,
    .pure = true,
    .plan = plan_sample_perfect_tile,
    .commit = commit_sample_tile,
});

inline constexpr Primitive sample_partitioned_tile(PrimitiveDefinition{
    .name = "sample_partitioned_tile",
    .doc = "Chooses factors of a loop of which the inner ones make a multiple of a number.",
    .conditions = sample_tile_conditions,
    .required = 2,
    .pure = true,
    .plan = plan_sample_partitioned_tile,
    .commit = commit_sample_tile,
});

}  // namespace loopsmith
