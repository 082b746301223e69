// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/allocated_buffer.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"

namespace loopsmith {

struct ExpandScalarArguments {
  BufferSelector buffer;
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"buffer", &ExpandScalarArguments::buffer,
                "The name of a buffer that is allocated around the loop, or declared in it, or the "
                "buffer."},
      Parameter{"loop", &ExpandScalarArguments::loop,
                "Each iteration of which gets a place of its own."}};
};

struct ExpandScalarPlan {
  LoopRV loop;
  AllocatedBuffer allocated;
  UsesByBlock uses;
};

inline constexpr Condition uses_are_in_the_loop{
    "uses_are_in_the_loop", "buffer {} is used outside loop {}, or in a condition of a block there",
    "keep what is used later in another buffer"};
inline constexpr ResultChange iterations_write_first{
    LegalityQuestion::cover, false,
    "it is not known that each iteration of loop {} writes what it reads of buffer {}",
    "write the buffer in each iteration before it is read"};
inline constexpr const Condition* expand_scalar_conditions[] = {
    &loop_is_plain,        &buffer_is_allocated_around, &buffer_is_used_by_index,
    &uses_are_in_the_loop, &bounds_are_known,           &step_keeps_results};

Planned<ExpandScalarPlan> plan_expand_scalar(const Schedule& schedule,
                                             const ExpandScalarArguments& arguments);

/// t = alloc(1)             t = alloc(n, 1)
/// for i in n:              for i in n:
///   t[0] = a(i)      =>      t[i, 0] = a(i)
///   b(t[0])                  b(t[i, 0])
Nothing commit_expand_scalar(Schedule& schedule, ExpandScalarPlan&& plan);

inline constexpr Primitive expand_scalar(PrimitiveDefinition{
    .name = "expand_scalar",
    .past = "expanded",
    .doc = "Gives each iteration of a loop elements of its own in an intermediate buffer: what one "
           "place kept apart in time, `distribute` may then run apart.",
    .conditions = expand_scalar_conditions,
    .required = 2,
    .plan = plan_expand_scalar,
    .commit = commit_expand_scalar,
});

}  // namespace loopsmith
