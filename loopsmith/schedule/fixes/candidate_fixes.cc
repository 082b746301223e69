// SPDX-License-Identifier: Apache-2.0
// What may help where a condition does not hold: one row a condition.
#include "loopsmith/schedule/fixes/candidate_fixes.h"

#include <algorithm>

#include "loopsmith/schedule/legality/plan_legality.h"
#include "loopsmith/schedule/primitives.h"

namespace loopsmith {
namespace {

struct Row {
  const Condition* condition;
  Fixes (*propose)(const RefusedCall&);
};

/// Where results would change, by what would change them.
struct ChangeRow {
  const ResultChange* change;
  Fixes (*propose)(const RefusedCall&);
};

constexpr ChangeRow change_rows[] = {
    {&iterations_depend, other_loops},          {&dependence_is_unknown, other_loops},
    {&updates_are_read, other_loops},           {&loop_is_reduction, partial_results},
    {&updates_conflict, windows_one_by_one},    {&order_would_change, other_orders},
    {&order_is_unknown, other_orders},          {&result_changes, other_places},
    {&result_is_unknown, other_places},         {&writer_does_not_read_first, cache_in_place},
    {&consumer_does_not_write, cache_in_place}, {&empty_reductions_start, inits_before},
};

constexpr Row rows[] = {
    // Loops.
    {&outer_bounds_are_outer, other_orders},
    {&loops_are_different, loops_once},
    {&nest_is_perfect, loops_below},
    {&outer_is_parent, neighbours},
    {&loop_is_plain, without_annotations},
    {&factors_cover_the_loop, an_inferred_factor},
    {&factor_is_positive, an_inferred_factor},
    {&one_factor_is_inferred, one_inferred_factor},
    {&names_fit_factors, no_names},
    {&thread_axis_exists, similar_threads},
    {&body_is_of_stores, innermost},
    // Places.
    {&loop_is_in_scope, loops_of_users},
    {&loop_is_not_around, loops_of_users},
    {&consumers_are_in_the_loop, readers_first},
    {&producers_are_in_the_loop, loops_of_users},
    {&block_is_no_output, into_the_producer},
    {&block_is_complete, loops_instead_of_inlining},
    {&block_has_no_init, decompose_first},
    // Reductions.
    {&loop_is_of_reduction, loops_around_block},
    {&nest_has_one_block, loops_around_block},
    {&loop_is_around_block, loops_around_block},
    {&loop_is_above_reduction, loops_around_block},
    {&number_is_in_range, first_axis},
    // Buffers.
    {&block_has_the_buffer, buffers_of_block},
    {&storage_scope_is_known, similar_scopes},
    {&dtype_is_known, similar_types},
    // Names.
    {&block_has_the_name, similar_blocks},
    {&loop_has_the_name, similar_loops},
    {&loop_name_is_unique, loops_by_block},
    {&function_is_known, similar_functions},
    {&annotation_exists, similar_annotations},
    {&loop_is_alive, what_they_became},
    {&block_is_alive, what_they_became},
};

}  // namespace

Fixes candidate_fixes(const RefusedCall& call) {
  if (const auto& change = call.refusal.change) {
    for (const ChangeRow& row : change_rows) {
      if (row.change->problem == change->problem) return row.propose(call);
    }
  }
  for (const Row& row : rows) {
    if (row.condition == call.refusal.condition) return row.propose(call);
  }
  return {};
}

Step call_of(const PrimitiveBase& primitive, std::vector<Argument> arguments) {
  return {&primitive, std::move(arguments), {}};
}

Step again(const RefusedCall& call) {
  return {&call.primitive, call.arguments, {}};
}

Step again_with(const RefusedCall& call, std::string_view parameter, Argument argument) {
  Step step = again(call);
  const auto parameters = call.primitive.parameters();
  const auto found = std::ranges::find(parameters, parameter, &ParameterInfo::name);
  if (found != parameters.end()) {
    step.arguments[static_cast<std::size_t>(found - parameters.begin())] = std::move(argument);
  }
  return step;
}

const Argument* argument_of(const RefusedCall& call, std::string_view parameter) {
  const auto parameters = call.primitive.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) return &call.arguments[i];
  }
  return nullptr;
}

}  // namespace loopsmith
