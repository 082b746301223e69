// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/work_parts.h"

namespace loopsmith {

struct InspectSplitArguments {
  LoopRV loop;
  std::int64_t parts = 64;
  bool cut_iterations = false;

  static constexpr std::tuple parameters{
      Parameter{"loop", &InspectSplitArguments::loop,
                "A loop around others whose numbers of iterations differ: rows of a sparse matrix, "
                "say."},
      Parameter{"parts", &InspectSplitArguments::parts, "How many parts of equal work."},
      Parameter{"cut_iterations", &InspectSplitArguments::cut_iterations,
                "Cuts inside of iterations, too, where the loop directly inside does nothing but "
                "add to the same elements in all of its iterations, or combine by another "
                "operation: one long row is shared by several parts."}};
};

struct InspectSplitPlan {
  LoopRV loop;
  std::int64_t parts = 0;
  Expr cost;      ///< Of an iteration, in terms of the loop's variable.
  Expr sum = {};  ///< What the costs are differences of, if they are.
  /// Of a loop of which parts share iterations, without its blocks; null where none do.
  Stmt shared_body = {};
  std::vector<ElementUpdate> updates = {};  ///< Those of an iteration that is shared.
  bool has_own_elements = false;            ///< Iterations run concurrently, and never conflict.
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition part_count_fits{"number_is_in_range",
                                           "loop {} has a variable of {}, which cannot count to {}",
                                           "pass fewer parts, or give the loop a wider type"};
inline constexpr Condition costs_differ{
    "costs_differ",
    "no loop directly inside loop {} has a number of iterations that differs and can be read "
    "before loop {} runs",
    "use split, which makes parts of equal length"};
inline constexpr Condition loop_is_outside_of_threads{
    "loop_is_outside_of_threads", "loop {} is inside of loop {}, whose iterations run concurrently",
    "do this before you parallelize or bind that loop"};
inline constexpr Condition loop_is_of_updates{
    "loop_is_of_updates", "parts cannot share an iteration of loop {}: {}",
    "distribute the loop first, so that the loop inside is alone in it and only adds to elements "
    "that stay; decompose reductions that start there"};
inline constexpr Condition loop_is_serial_or_parallel{"loop_is_serial",
                                                      "loop {} is neither serial nor parallel",
                                                      "do this before you vectorize or unroll it"};
inline constexpr const Condition* inspect_split_conditions[] = {&number_is_in_range,
                                                                &part_count_fits,
                                                                &loop_is_plain,
                                                                &loop_is_serial_or_parallel,
                                                                &iterations_reach_their_end,
                                                                &step_keeps_results,
                                                                &loop_is_outside_of_threads,
                                                                &costs_differ,
                                                                &loop_is_of_updates};

Planned<InspectSplitPlan> plan_inspect_split(const Schedule& schedule,
                                             const InspectSplitArguments& arguments);

///                                        ends[0:9] = how many rows have less than p eighths of
///                                                    all work before them
/// for i in n:                            for p in 8:
///   for k in range(S[i], S[i + 1]):  =>    for i in range(ends[p], ends[p + 1]):
///     body(i, k)                             for k in range(S[i], S[i + 1]): body(i, k)
///
/// Iterations keep their order. A parallel loop gives a parallel loop over the parts, which then
/// have about as much to do each. Gives that loop and the one inside.
///
/// With `cut_iterations`, a part begins at iteration inside[p] of the inner loop of its first i and
/// ends before inside[p + 1] of its last one:
///
/// for i in n:                       for p in 8:
///   for k in range(S[i], S[i + 1]):   for i in range(ends[p], ends[p + 1] + 1):
///     Y[i] += a(i, k)           =>      carry[p] = 0
///                                       for k of i that belong to p:  carry[p] += a(i, k)
///                                       if i != ends[p + 1]:  Y[i] += carry[p]
///                                   for p in 8:  Y[ends[p + 1]] += carry[p]
///
/// Parts of iterations are none of blocks: these are left, and their statements stay.
Handles<LoopRV> commit_inspect_split(Schedule& schedule, InspectSplitPlan&& plan);

inline constexpr Primitive inspect_split(PrimitiveDefinition{
    .name = "inspect_split",
    .past = "cut into parts of equal work",
    .doc = "Splits a loop into parts with equal work where inner loops have different numbers of "
           "iterations, which are counted before the loop runs. Parallelize the loop first to have "
           "the parts run concurrently.",
    .conditions = inspect_split_conditions,
    .keeps_accesses = true,
    .plan = plan_inspect_split,
    .commit = commit_inspect_split,
});

}  // namespace loopsmith
