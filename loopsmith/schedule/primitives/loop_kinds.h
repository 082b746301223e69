// SPDX-License-Identifier: Apache-2.0
// How the iterations of a loop are run: parallel, vectorize, unroll, bind.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/size_condition.h"

namespace loopsmith {

struct LoopKindArguments {
  LoopRV loop;
  bool assume_independent = false;

  static constexpr std::tuple parameters{
      Parameter{"loop", &LoopKindArguments::loop},
      promise("assume_independent", &LoopKindArguments::assume_independent,
              "Takes an unknown dependence for none. A known one still refuses.")};
};

struct ParallelArguments {
  LoopRV loop;
  bool assume_independent = false;
  std::optional<SizeCondition> condition = {};

  static constexpr std::tuple parameters{
      Parameter{"loop", &ParallelArguments::loop},
      promise("assume_independent", &ParallelArguments::assume_independent,
              "Takes an unknown dependence for none. A known one still refuses."),
      Parameter{"condition", &ParallelArguments::condition,
                "On the function's sizes: where it does not hold, the thread that comes to the "
                "loop runs it alone."}};
};

struct UnrollArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{Parameter{"loop", &UnrollArguments::loop}};
};

struct BindArguments {
  LoopRV loop;
  std::string thread_axis;
  bool assume_independent = false;

  static constexpr std::tuple parameters{
      Parameter{"loop", &BindArguments::loop},
      Parameter{"thread_axis", &BindArguments::thread_axis,
                "blockIdx.x, threadIdx.x, vthread, or the like with y and z."},
      promise("assume_independent", &BindArguments::assume_independent,
              "Takes an unknown dependence for none. A known one still refuses.")};
};

struct LoopKindPlan {
  LoopRV loop;
  ForKind kind;
  bool assume_independent = false;
  std::string thread_axis = {};
  bool is_atomic = false;  ///< What iterations update in common, they update atomically.
  std::optional<Argument> reordered_reduction = {};
  bool has_independent_iterations = false;
  Expr condition = {};   ///< Under which threads run it; null: always.
  bool selects = false;  ///< Branches inside become the updates that they are first.
};

inline constexpr Condition thread_axis_exists{
    "name_is_known", "there is no thread axis {}",
    "use blockIdx.x, threadIdx.x, vthread.x, or the like with y and z"};
inline constexpr Condition threads_count_by_one{
    "threads_count_by_one", "loop {} counts in steps of {}, threads count by one",
    "write the loop from 0 by 1, with the step in the indices"};
inline constexpr Condition thread_axis_is_free{
    "thread_axis_is_free", "loop {} is bound to {}, and one of it and loop {} is inside the other",
    "bind the loops of one nest to different axes"};
inline constexpr Condition condition_is_a_truth_value{"argument_has_type",
                                                      "the condition of loop {} is {}, of type {}",
                                                      "compare it, as in n * m >= 10000"};
inline constexpr Condition updates_can_be_atomic{
    "updates_can_be_atomic",
    "what iterations of loop {} update in common are not sums, or extremes or bits of integers, of "
    "32 or 64 bits in global memory",
    "parallelize the loop, or privatize it first: iterations then have copies that are merged"};
inline constexpr const Condition* loop_kind_conditions[] = {&iterations_reach_their_end,
                                                            &step_keeps_results};
inline constexpr const Condition* parallel_conditions[] = {&iterations_reach_their_end,
                                                           &step_keeps_results, &value_is_of_sizes,
                                                           &condition_is_a_truth_value};
inline constexpr const Condition* bind_conditions[] = {&thread_axis_exists, &threads_count_by_one,
                                                       &thread_axis_is_free, &step_keeps_results,
                                                       &iterations_reach_their_end};

Planned<LoopKindPlan> plan_parallel(const Schedule& schedule, const ParallelArguments& arguments);
Planned<LoopKindPlan> plan_vectorize(const Schedule& schedule, const LoopKindArguments& arguments);
Planned<LoopKindPlan> plan_unroll(const Schedule& schedule, const UnrollArguments& arguments);
Planned<LoopKindPlan> plan_bind(const Schedule& schedule, const BindArguments& arguments);
/// The loop with the kind and the annotations that it is to have.
For planned_loop(const Schedule& schedule, const LoopKindPlan& plan);
Nothing commit_loop_kind(Schedule& schedule, LoopKindPlan&& plan);

/// Writes branches inside a node that are updates, `if e > x: x = e`, as such. False: there is
/// none.
bool write_selections(Schedule& schedule, NodeId root);

inline constexpr Primitive parallel(PrimitiveDefinition{
    .name = "parallel",
    .doc = "Runs the iterations of a loop on several threads.",
    .conditions = parallel_conditions,
    .keeps_accesses = true,
    .plan = plan_parallel,
    .commit = commit_loop_kind,
});

inline constexpr Primitive vectorize(PrimitiveDefinition{
    .name = "vectorize",
    .past = "vectorized",
    .doc = "Runs the iterations of a loop in the lanes of vectors.",
    .conditions = loop_kind_conditions,
    .keeps_accesses = true,
    .plan = plan_vectorize,
    .commit = commit_loop_kind,
});

inline constexpr Primitive unroll(PrimitiveDefinition{
    .name = "unroll",
    .past = "unrolled",
    .doc = "Writes out the iterations of a loop one after another.",
    .keeps_accesses = true,
    .plan = plan_unroll,
    .commit = commit_loop_kind,
});

inline constexpr Primitive bind(PrimitiveDefinition{
    .name = "bind",
    .past = "bound",
    .doc = "Runs the iterations of a loop on threads of a GPU.",
    .conditions = bind_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_bind,
    .commit = commit_loop_kind,
});

}  // namespace loopsmith
