// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/early_bounds.h"
#include "loopsmith/schedule/queries/nest_shape.h"

namespace loopsmith {

struct FuseArguments {
  std::vector<LoopRV> loops;
  bool preserve_unit_iters = true;
  std::optional<std::string> name = {};
  bool wide = false;

  static constexpr std::tuple parameters{
      Parameter{"loops", &FuseArguments::loops, "Outermost first."},
      Parameter{"preserve_unit_iters", &FuseArguments::preserve_unit_iters,
                "Whether the place in loops of extent 1 stays in the bindings of blocks."},
      Parameter{"name", &FuseArguments::name, "Of the new loop."},
      Parameter{"wide", &FuseArguments::wide,
                "Whether the new loop counts in 64 bits, as there may be more iterations than the "
                "type of the loops has numbers."}};
};

struct FusePlan {
  std::vector<LoopRV> loops;
  NestShape shape;  ///< That they take before.
  std::optional<std::string> name;
  bool is_wide;
};

inline constexpr Condition outer_is_parent{
    "nest_is_perfect", "outer loop {} is not the parent of the inner loop {}",
    "give neighbours, outermost first; reorder brings them together"};
inline constexpr Condition inner_is_only_child{"nest_is_perfect",
                                               "loop {} is not the only child of loop {}",
                                               "move what else is in the loop elsewhere"};
inline constexpr Condition extents_are_independent{
    "bounds_are_independent", "the bounds of loop {} depend on loop {}",
    "fuse loops whose ends have bounds outside of both; of a reduction with an init, those that "
    "are never empty"};
inline constexpr Condition loops_have_one_kind{"loop_is_serial", "loop {} is {}, loop {} is {}",
                                               "fuse first, then parallelize, vectorize or unroll"};
inline constexpr const Condition* fuse_conditions[] = {
    &loops_are_given,    &loop_is_plain,       &step_keeps_results,
    &outer_is_parent,    &inner_is_only_child, &extents_are_independent,
    &bounds_have_values, &loops_have_one_kind, &iterations_reach_their_end};

Planned<FusePlan> plan_fuse(const Schedule& schedule, const FuseArguments& arguments);

/// for i in n:                for i_j_fused in n * m:
///   for j in m:       =>       body(i_j_fused // m, i_j_fused % m)
///     body(i, j)
///
/// for i in n:                for i_j_fused in n * n:
///   for j in i..n:    =>       if i_j_fused // n <= i_j_fused % n:
///     body(i, j)                 body(i_j_fused // n, i_j_fused % n)
LoopRV commit_fuse(Schedule& schedule, FusePlan&& plan);

inline constexpr Primitive fuse(PrimitiveDefinition{
    .name = "fuse",
    .past = "fused",
    .doc = "Makes one loop of nested ones. Of bounds that read an outer loop the new loop goes "
           "through all values, and a guard leaves out what the old loops did.",
    .conditions = fuse_conditions,
    .plan = plan_fuse,
    .commit = commit_fuse,
});

}  // namespace loopsmith
