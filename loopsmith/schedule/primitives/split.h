// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith {

struct SplitArguments {
  LoopRV loop;
  std::vector<SplitFactor> factors;
  std::optional<std::vector<std::string>> names = {};
  bool preserve_unit_iters = true;
  bool disable_predication = false;

  static constexpr std::tuple parameters{
      Parameter{"loop", &SplitArguments::loop},
      Parameter{"factors", &SplitArguments::factors,
                "The extents, outermost first: numbers, or integer expressions of the function's "
                "sizes, which count as 1 where they are less; at most one is to be inferred: "
                "None, or -1."},
      Parameter{"names", &SplitArguments::names, "Of the new loops."},
      Parameter{"preserve_unit_iters", &SplitArguments::preserve_unit_iters,
                "Whether loops of extent 1 stay in the bindings of blocks."},
      promise(
          "disable_predication", &SplitArguments::disable_predication,
          "Leaves out the guard; what runs beyond the old extent is then your responsibility.")};
};

struct SplitPlan {
  LoopRV loop;
  std::vector<Expr> factors;
  std::vector<std::string> names;
  bool is_guarded;
  bool drops_units;
};

inline constexpr Condition factor_is_positive{
    "number_is_in_range", "factor {} of loop {} is {}, not positive", "pass 1 or more"};
inline constexpr Condition factor_has_type{
    "argument_has_type", "factor {} of loop {} is {}, of type {}, but the loop counts in {}",
    "give an integer expression, or cast it to the type of the loop"};
inline constexpr Condition one_factor_is_inferred{
    "arguments_fit", "loop {}: only one factor can be specified as -1 or None", "give the others"};
inline constexpr Condition factors_cover_the_loop{
    "arguments_fit", "the product of factors is {}, less than the extent {} of loop {}",
    "leave one factor to be inferred: None"};
inline constexpr Condition names_fit_factors{"arguments_fit", "{} names are given for {} factors",
                                             "give one name for each factor"};
inline constexpr const Condition* split_conditions[] = {
    &loop_is_plain,          &step_keeps_results, &factor_is_positive,
    &factor_has_type,        &value_is_of_sizes,  &one_factor_is_inferred,
    &factors_cover_the_loop, &names_fit_factors,  &iterations_reach_their_end};

Planned<SplitPlan> plan_split(const Schedule& schedule, const SplitArguments& arguments);

/// for i in n:              for i_0 in ceil(n / 4):
///   body(i)         =>       for i_1 in 4:
///                              if i_0 * 4 + i_1 < n:  body(i_0 * 4 + i_1)
///
/// The guard goes into the `where` of the blocks inside, and is left out where it always holds. A
/// loop that starts elsewhere or has a step counts its iterations. A factor that may be less than 1
/// for some sizes, f, makes a loop of max(f, 1).
Handles<LoopRV> commit_split(Schedule& schedule, SplitPlan&& plan);

inline constexpr Primitive split(PrimitiveDefinition{
    .name = "split",
    .doc = "Splits a loop into nested loops.",
    .conditions = split_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_split,
    .commit = commit_split,
});

}  // namespace loopsmith
