// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/loop_value.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct PeelArguments {
  LoopRV loop;
  std::int64_t first = 1;
  std::int64_t last = 0;
  std::int64_t align = 0, align_end = 0;
  std::optional<LoopValue> at = {};

  static constexpr std::tuple parameters{
      Parameter{"loop", &PeelArguments::loop},
      Parameter{"first", &PeelArguments::first, "How many iterations come before the loop."},
      Parameter{"last", &PeelArguments::last, "How many come after it."},
      Parameter{"align", &PeelArguments::align,
                "In place of `first`: as many come before the loop as it takes until its value is "
                "a multiple of this number. 0: `first` says it."},
      Parameter{"align_end", &PeelArguments::align_end,
                "In place of `last`: as many come after the loop as it takes until it ends at a "
                "multiple of this number. 0: `last` says it."},
      Parameter{"at", &PeelArguments::at,
                "The value at which the `first` iterations begin, in place of the loop's start: a "
                "number, an expression of sizes, or the value of a loop around it. What comes "
                "before them is a loop, too."}};
};

/// Iterations of the loop that become a loop.
struct PeeledPart {
  Expr before;  ///< How many iterations come first.
  Expr extent;
  std::string suffix;  ///< Of its name and those of its blocks; empty: the loop itself.
  std::vector<const Block*> going_on = {};  ///< Reductions that an earlier part has started.
};

struct PeelPlan {
  LoopRV loop;
  std::vector<PeeledPart> parts;
  std::vector<Ptr<Buffer>> own = {};  ///< What each iteration has for itself: so do the parts.
};

inline constexpr Condition peeled_numbers_are_positive{"number_is_in_range",
                                                       "{} iterations of loop {} are to come {} it",
                                                       "pass 0 or more, and not 0 for both"};
inline constexpr Condition aligned_loop_has_all_values{
    "number_is_in_range", "loop {} counts by {}, and is to start or end at a multiple of {}",
    "pass a positive number, for a loop that counts by 1"};
inline constexpr Condition cut_loop_has_all_values{
    "arguments_fit", "loop {} counts by {}, aligned to {}, and is to be cut at {}",
    "cut a loop that counts by 1, and align its parts afterwards"};
inline constexpr Condition value_has_type{
    "argument_has_type", "loop {} is to be cut at {}, of type {}, but counts in {}",
    "give an integer expression, or cast it to the type of the loop"};
inline constexpr Condition peeled_iterations_fit{
    "number_is_in_range", "{} iterations are to be peeled of loop {}, which has {}",
    "peel at most as many as there are"};
inline constexpr ResultChange reduction_starts_in_the_loop{
    LegalityQuestion::order, false,
    "block {} starts its reduction in one of the iterations of loop {}, whose bounds are no "
    "constants",
    "use decompose_reduction first"};
inline constexpr const Condition* peel_conditions[] = {&loop_is_plain,
                                                       &step_keeps_results,
                                                       &number_is_in_range,
                                                       &peeled_numbers_are_positive,
                                                       &aligned_loop_has_all_values,
                                                       &cut_loop_has_all_values,
                                                       &value_has_type,
                                                       &value_is_of_sizes,
                                                       &loop_is_around_loop,
                                                       &peeled_iterations_fit,
                                                       &iterations_reach_their_end};

Planned<PeelPlan> plan_peel(const Schedule& schedule, const PeelArguments& arguments);

/// for i in n:         for i_first in min(1, n):        body(i_first)
///   body(i)     =>    for i in min(1, n)..n:           body(i)
///
/// Tiles of triangles start where those of other loops do if each is aligned, here to 8:
///
/// for i in n:         for i in n:
///   for j in i..n:      for j_first in i..min(i + (0 - i) % 8, n):  body(i, j_first)
///     body(i, j)  =>    for j in i + (0 - i) % 8..n:                body(i, j)
///
/// and end where blocks of rows start if each end is aligned:
///
/// for i in n:         for i in n:
///   for j in i:         for j in i - i % 8:          body(i, j)
///     body(i, j)  =>    for j_last in i - i % 8..i:  body(i, j_last)
///
/// A row that other rows read is apart from these if the loop over rows is cut at it:
///
/// for k in n:         for k in n:
///   for i in n:         for i_before in k:          body(k, i_before)
///     body(k, i)  =>    for i_at in k..k + 1:       body(k, i_at)
///                       for i in k + 1..n:          body(k, i)
///
/// Gives the loops in their order. The loop that is left keeps its name, blocks and memory that
/// each iteration has for itself, the others get copies; where nothing is left, it ends.
Handles<LoopRV> commit_peel(Schedule& schedule, PeelPlan&& plan);

inline constexpr Primitive peel(PrimitiveDefinition{
    .name = "peel",
    .past = "peeled",
    .doc =
        "Takes the first or last iterations of a loop out of it, or those at a value that it has "
        "on the way (index set splitting). What is special in them, as a border or a pivot is, "
        "is then decided outside of the loop.",
    .conditions = peel_conditions,
    .plan = plan_peel,
    .commit = commit_peel,
});

}  // namespace loopsmith
