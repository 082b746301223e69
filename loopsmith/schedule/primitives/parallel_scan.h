// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/queries/recurrence.h"

namespace loopsmith {

struct ParallelScanArguments {
  LoopRV loop;
  std::int64_t length = 4096;
  std::optional<Annotation> reducer = {};
  std::int64_t tile = 0;

  static constexpr std::tuple parameters{
      Parameter{"loop", &ParallelScanArguments::loop,
                "Whose iterations each take over one value from the iteration before."},
      Parameter{"length", &ParallelScanArguments::length,
                "How many iterations a part has, rounded up to a multiple of 16; the parts run "
                "concurrently."},
      Parameter{"reducer", &ParallelScanArguments::reducer,
                "How the value before is combined, where the loop does not tell: a CommReducer, as "
                "a te.comm_reducer gives it for some types. That it is associative, and its "
                "identity neutral, is your word. None: what the block in the loop declares."},
      Parameter{"tile", &ParallelScanArguments::tile,
                "How many parts are a tile, whose operands and values go through shared memory, so "
                "that neighbouring threads may load and store neighbours; 0: there are no tiles."}};
};

struct ParallelScanPlan {
  LoopRV loop;
  std::int64_t length = 0, tile = 0;
  Expr guard;  ///< Of the iterations of a beginning, which run; null where all do.
  std::vector<Stmt> stores;
  Recurrence recurrence;
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition body_is_of_stores{
    "loop_is_a_scan", "the body of loop {} is not a sequence of stores",
    "distribute the loop first, so that the recurrence is alone with what uses it"};
inline constexpr Condition loop_has_a_recurrence{
    "loop_is_a_scan",
    "no store in loop {} takes over the value that the iteration before has stored",
    "write it as x[i + 1] = x[i] + a[i], or in one element: x[0] = x[0] + a[i]"};
inline constexpr Condition recurrence_is_associative{
    "loop_is_a_scan",
    "{} is made of the value before by no operation that is known to be associative",
    "use a sum, a product, min, max, or the form a * x + b; or say how it is combined by the "
    "argument reducer, or in the annotation \"reducer\" of a block, a T.comm_reducer"};
inline constexpr Condition reducer_is_a_reducer{
    "argument_has_type", "the argument reducer is no CommReducer",
    "pass te.comm_reducer(combine, identity).combiner(\"float32\")"};
inline constexpr Condition recurrence_is_of_reducer{
    "loop_is_a_scan",
    "{} is not what the declared reducer combines of the values before and of others",
    "write the statements as the reducer's results, with the values before in the place of its "
    "first operands, one store a result"};
inline constexpr ResultChange recurrence_inputs_stay{
    LegalityQuestion::coherence, false,
    "the recurrence of loop {} reads {}, which the loop writes elsewhere",
    "distribute the loop first"};
inline constexpr Condition tiles_have_values_after{
    "loop_is_a_scan",
    "something in loop {} stands before the recurrence, and tiles have the values after it alone",
    "distribute the loop first, or pass tile=0"};
inline constexpr const Condition* parallel_scan_conditions[] = {&loop_is_plain,
                                                                &step_keeps_results,
                                                                &number_is_in_range,
                                                                &reducer_is_a_reducer,
                                                                &body_is_of_stores,
                                                                &loop_has_a_recurrence,
                                                                &recurrence_is_associative,
                                                                &recurrence_is_of_reducer,
                                                                &tiles_have_values_after,
                                                                &iterations_reach_their_end};

Planned<ParallelScanPlan> plan_parallel_scan(const Schedule& schedule,
                                             const ParallelScanArguments& arguments);

/// Puts the loops over parts in the place of the loop: of the totals, of what parts start with, of
/// the parts.
Handles<LoopRV> cut_into_parts(Schedule& schedule, const ParallelScanPlan& plan);

/// for i in n:                 for p in parallel(parts):  total[p] = a(i) + ... of its iterations
///   x[i + 1] = x[i] + a(i)    for p in parts:            carry[p + 1] = carry[p] + total[p]
///                        =>   for p in parallel(parts):
///                               for i of part p:  carry[p] = carry[p] + a(i);  x[i + 1] = carry[p]
///
/// Gives the three loops over the parts. With a tile of t parts, the first and the third are over
/// tiles: in each are a loop over its iterations that computes what they need, one over its parts,
/// and in the third one over its iterations again that stores what they have made.
///
/// Where the bounds of the loop are not known at the block
/// around it, as in rows of different lengths, they get a block of their own. A condition that ends
/// the loop early, as a split leaves it, is asked in each part: what is split into blocks that fit
/// into caches is scanned block by block. Statements beside the recurrence run in the last one.
Handles<LoopRV> commit_parallel_scan(Schedule& schedule, ParallelScanPlan&& plan);

inline constexpr Primitive parallel_scan(PrimitiveDefinition{
    .name = "parallel_scan",
    .past = "cut into parts",
    .doc = "Runs a loop in parallel of which each iteration needs the value of the one before, "
           "made by an associative operation or linear in it: prefix sums, running extremes, "
           "recurrences of first order, segmented by a condition or not, and what a reducer "
           "combines, tuples, too.",
    .conditions = parallel_scan_conditions,
    .plan = plan_parallel_scan,
    .commit = commit_parallel_scan,
});

}  // namespace loopsmith
