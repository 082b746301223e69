// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/early_bounds.h"
#include "loopsmith/schedule/queries/nest_shape.h"

namespace loopsmith {

struct ReorderArguments {
  std::vector<LoopRV> loops;
  bool assume_independent = false;

  static constexpr std::tuple parameters{
      Parameter{"loops", &ReorderArguments::loops, "In their new order."},
      promise("assume_independent", &ReorderArguments::assume_independent,
              "Takes an unknown dependence for none. A known one still refuses.")};
};

struct ReorderPlan {
  std::vector<LoopRV> named;
  bool assume_independent = false;
  std::vector<LoopRV> band;        ///< All loops from the outermost that moves to the innermost.
  std::vector<std::size_t> order;  ///< Which of them comes where.
  NestShape shape = {};            ///< That they take before.
  std::optional<Argument> reordered_reduction = {};
  bool is_assumed = false;  ///< That dependences are kept.
};

inline constexpr Condition loops_are_different{
    "arguments_fit", "loop {} appears in the input array for multiple times",
    "name each loop once"};
inline constexpr Condition outer_bounds_are_outer{
    "bounds_are_independent", "the bounds of loop {} depend on loop {}, which would be inside it",
    "keep these two in their order"};
inline constexpr const Condition* reorder_conditions[] = {
    &loops_are_different,    &loop_is_around_loop, &nest_is_perfect,
    &outer_bounds_are_outer, &bounds_have_values,  &step_keeps_results};

Planned<ReorderPlan> plan_reorder(const Schedule& schedule, const ReorderArguments& arguments);

/// for i in n:               for j in m:
///   for j in m:       =>      for i in n:
///     body(i, j)                body(i, j)
///
/// for i in n:               for j in n:
///   for j in i..n:     =>     for i in j + 1:
///     body(i, j)                body(i, j)
Nothing commit_reorder(Schedule& schedule, ReorderPlan&& plan);

inline constexpr Primitive reorder(PrimitiveDefinition{
    .name = "reorder",
    .doc = "Changes the order of nested loops. Guards among them, as `split` makes them, go into "
           "the innermost; bounds that read a loop which comes inside are solved for that loop.",
    .conditions = reorder_conditions,
    .plan = plan_reorder,
    .commit = commit_reorder,
});

}  // namespace loopsmith
