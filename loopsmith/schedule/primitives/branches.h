// SPDX-License-Identifier: Apache-2.0
// Primitives that move an `if` into a loop, or out of it.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct SinkIfArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &SinkIfArguments::loop, "What an `if`, or a branch of it, holds."}};
};

struct HoistIfArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &HoistIfArguments::loop, "Whose body is an `if`."}};
};

struct BranchPlan {
  LoopRV loop;
  NodeId branch = no_node;
};

inline constexpr Condition loop_is_alone_in_a_branch{
    "branches_have_the_form", "loop {} is not all that a branch of an `if` holds",
    "give a loop right inside an `if`; distribute and reorder_statements part it from others"};
inline constexpr Condition branches_have_equal_loops{
    "branches_have_the_form", "the other branch of the `if` around loop {} is not a loop alike",
    "give both branches loops of one kind, start, extent and step"};
inline constexpr Condition body_is_an_if{"branches_have_the_form",
                                         "the body of loop {} is not an `if`",
                                         "give the loop right around an `if`, alone in it"};
inline constexpr Condition condition_is_outside{
    "branches_have_the_form", "the condition {} depends on loop {}",
    "hoist conditions that are the same in each iteration; peel or loop_partition make them so"};
inline constexpr ResultChange condition_stays{LegalityQuestion::order, false,
                                              "the condition {} reads what loop {} writes",
                                              "keep its value in a buffer of its own first"};
inline constexpr ResultChange condition_has_a_value{
    LegalityQuestion::understood, false,
    "the condition {} reads memory, also where loop {} has no iteration",
    "give the loop a constant extent"};
inline constexpr const Condition* sink_if_conditions[] = {
    &loop_is_plain, &loop_is_alone_in_a_branch, &branches_have_equal_loops, &bounds_read_no_memory,
    &step_keeps_results};
inline constexpr const Condition* hoist_if_conditions[] = {
    &loop_is_plain, &body_is_an_if, &condition_is_outside, &step_keeps_results};

Planned<BranchPlan> plan_sink_if(const Schedule& schedule, const SinkIfArguments& arguments);
Planned<BranchPlan> plan_hoist_if(const Schedule& schedule, const HoistIfArguments& arguments);

/// if c:                  for i in n:
///   for i in n: a(i)       if c:  a(i)
/// else:             =>     else:  b(i)
///   for j in n: b(j)
///
/// The loop keeps its name. Where there is no `else`, there is none afterwards.
Nothing commit_sink_if(Schedule& schedule, BranchPlan&& plan);

/// for i in n:          if c:
///   if c:  a(i)   =>     for i in n:  a(i)
///   else:  b(i)        else:
///                        for i_1 in n:  b(i_1)
///
/// Gives the loops, of which the first keeps its name.
Handles<LoopRV> commit_hoist_if(Schedule& schedule, BranchPlan&& plan);

inline constexpr Primitive sink_if(PrimitiveDefinition{
    .name = "sink_if",
    .past = "moved out of its `if`",
    .doc = "Moves the `if` around a loop into it; loops of both branches become one.",
    .conditions = sink_if_conditions,
    .plan = plan_sink_if,
    .commit = commit_sink_if,
});

inline constexpr Primitive hoist_if(PrimitiveDefinition{
    .name = "hoist_if",
    .past = "moved into its `if`",
    .doc = "Moves an `if` out of the loop that holds it (loop unswitching).",
    .conditions = hoist_if_conditions,
    .plan = plan_hoist_if,
    .commit = commit_hoist_if,
});

}  // namespace loopsmith
