// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct ReorderStatementsArguments {
  BlockOrLoop first;
  BlockOrLoop second;

  static constexpr std::tuple parameters{
      Parameter{"first", &ReorderStatementsArguments::first,
                "A block or loop in the statement that moves."},
      Parameter{"second", &ReorderStatementsArguments::second,
                "One in the statement right before which it comes to stand."}};
};

struct ReorderStatementsPlan {
  Argument moved;
  NodeId sequence = no_node;
  std::uint32_t from = 0;  ///< Where the first stands.
  std::uint32_t to = 0;    ///< Where it comes to stand, once it is taken out.
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition statements_are_siblings{
    "statements_follow_each_other", "{} and {} are not in two statements of one sequence",
    "give blocks or loops that stand one after another in the same loop or block"};
inline constexpr Condition statements_run_to_their_end{
    "statements_run_to_their_end", "a {} leaves the statement of {}",
    "rewrite it as a condition on what comes after"};
inline constexpr const Condition* reorder_statements_conditions[] = {
    &statements_are_siblings, &statements_run_to_their_end, &step_keeps_results};

Planned<ReorderStatementsPlan> plan_reorder_statements(const Schedule& schedule,
                                                       const ReorderStatementsArguments& arguments);

/// a        c
/// b   =>   a      for first = c, second = a
/// c        b
Nothing commit_reorder_statements(Schedule& schedule, ReorderStatementsPlan&& plan);

inline constexpr Primitive reorder_statements(PrimitiveDefinition{
    .name = "reorder_statements",
    .past = "moved",
    .doc = "Moves a statement of a sequence to right before another one of it.",
    .conditions = reorder_statements_conditions,
    .required = 2,
    .plan = plan_reorder_statements,
    .commit = commit_reorder_statements,
});

}  // namespace loopsmith
