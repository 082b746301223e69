// SPDX-License-Identifier: Apache-2.0
// Whether a step keeps results, by what its plan says: how statements, loops and their iterations
// would be ordered. Plans that leave a choice to dependences are completed. The runner of
// primitives asks; plans of other primitives leave the question to `preservation`.
#pragma once
#include "loopsmith/schedule/legality/concurrent_loops.h"
#include "loopsmith/schedule/primitives/distribute.h"
#include "loopsmith/schedule/primitives/expand_scalar.h"
#include "loopsmith/schedule/primitives/hoist_factor.h"
#include "loopsmith/schedule/primitives/inspect_split.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge_online.h"
#include "loopsmith/schedule/primitives/merge_siblings.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/peel.h"
#include "loopsmith/schedule/primitives/privatize.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reorder_statements.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/primitives/transform_block_layout.h"

namespace loopsmith {

/// Iterations that run in another order keep that of what conflicts.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, ReorderPlan& plan);
/// Of nests that become one, no iteration needs what a later one of a nest before it makes.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergePlan& plan);
/// Finds where the loop may be cut.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, DistributePlan& plan);
/// The statement may change places with all that it passes.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, ReorderStatementsPlan& plan);
/// Finds where statements between the loops may go; then the loops may become one.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergeSiblingsPlan& plan);
/// Iterations may run concurrently.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, LoopKindPlan& plan);
/// No iteration reads what another one has left in the buffer.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, ExpandScalarPlan& plan);
/// No term reads what is summed up, and no element has terms of several sums.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, HoistFactorPlan& plan);
/// The same, of the maximum and of the sums.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergeOnlinePlan& plan);
/// Finds what iterations update in common, and whether it has values before.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, PrivatizePlan& plan);
/// What the recurrence reads stays, and the parts may run concurrently.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, ParallelScanPlan& plan);
/// Finds the memory that each iteration has for itself. Refuses nothing.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, PeelPlan& plan);
/// Finds out whether iterations that run concurrently never conflict, by the program alone.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, InspectSplitPlan& plan);
/// Instances of the block may run in any order.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, TransformBlockLayoutPlan& plan);
/// Loops that run concurrently still may. Of an implementation, which may do anything, it is known
/// that it does what the description says.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, TensorizePlan& plan);

inline constexpr ResultChange order_would_change{
    LegalityQuestion::order, true, "loop {} would run before what it depends on",
    "keep the order of the loops that carry dependences"};
inline constexpr ResultChange order_is_unknown{
    LegalityQuestion::order, false,
    "whether the new order of loops {} keeps dependences is unknown, as {}",
    "if you know that it does, pass assume_independent=True"};
inline constexpr ResultChange merging_changes_order{
    LegalityQuestion::order, true, "loop {} needs what a later iteration of loop {} makes",
    "leave these loops apart, or use compute_at, which computes what is needed"};
inline constexpr ResultChange merging_is_unknown{
    LegalityQuestion::order, false, "whether loops {} and {} may become one is unknown, as {}",
    "if you know that they may, pass assume_independent=True"};
inline constexpr ResultChange distribution_changes_order{
    LegalityQuestion::order, true,
    "each statement of loop {} needs what those after it make in earlier iterations",
    "expand_scalar gives each iteration a place of its own, peel or shift may break the circle"};
inline constexpr ResultChange distribution_is_unknown{
    LegalityQuestion::order, false,
    "whether statements of loop {} may run in loops of their own is unknown, as {}",
    "let the indices be sums of loops and sizes with constant factors"};
inline constexpr ResultChange statements_need_their_order{
    LegalityQuestion::order, true, "{} and `{}` need each other in this order",
    "keep what depends on each other in its order"};
inline constexpr ResultChange statement_order_is_unknown{
    LegalityQuestion::order, false, "whether {} and `{}` may change places is unknown, as {}",
    "let the indices be sums of loops and sizes with constant factors"};
inline constexpr ResultChange updates_conflict{
    LegalityQuestion::regroup, true,
    "iterations of loop {} update elements in common, of which they cannot have partial results",
    "parallelize another loop, or split it by as many iterations as update one element, and "
    "parallelize the outer loop inside of the inner one"};

}  // namespace loopsmith
