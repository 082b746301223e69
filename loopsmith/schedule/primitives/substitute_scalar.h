// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/expand_scalar.h"

namespace loopsmith {

struct SubstituteScalarArguments {
  BufferSelector buffer;
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{
          "buffer", &SubstituteScalarArguments::buffer,
          "The name of a variable that is allocated around the loop, or in it, or its buffer."},
      Parameter{"loop", &SubstituteScalarArguments::loop, "One of the loops that use it."}};
};

struct SubstituteScalarPlan {
  NodeId body = no_node;  ///< All that uses the variable.
  Stmt statement;         ///< What takes its place.
};

inline constexpr Condition scalar_is_known{
    "scalar_is_known", "the value of {} is not known where it is read: {}",
    "it is known of integers that start as a number or a size and are set to one, or to what the "
    "loops count, or grow by as much in each iteration, on each path alike"};
inline constexpr const Condition* substitute_scalar_conditions[] = {
    &buffer_is_allocated_around, &buffer_is_used_by_index, &scalar_is_known, &step_keeps_results};

Planned<SubstituteScalarPlan> plan_substitute_scalar(const Schedule& schedule,
                                                     const SubstituteScalarArguments& arguments);

/// k = 0
/// for i in n:               for i in n:
///   a[k] = b[i]       =>      a[2 * i] = b[i]
///   k = k + 2
///
/// What is read no more is not stored any more.
Nothing commit_substitute_scalar(Schedule& schedule, SubstituteScalarPlan&& plan);

inline constexpr Primitive substitute_scalar(PrimitiveDefinition{
    .name = "substitute_scalar",
    .past = "replaced by its values",
    .doc = "Puts the values of an integer variable in its place where the loops around tell them: "
           "numbers, induction variables, and what the iteration before counted.",
    .conditions = substitute_scalar_conditions,
    .required = 2,
    .plan = plan_substitute_scalar,
    .commit = commit_substitute_scalar,
});

}  // namespace loopsmith
