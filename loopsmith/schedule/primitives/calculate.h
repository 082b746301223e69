// SPDX-License-Identifier: Apache-2.0
// calculate: a number made of numbers that the schedule has chosen.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct CalculateArguments {
  std::string operation;  ///< "+", "-", "*", "//", "%", "min" or "max".
  Factor a;
  Factor b;

  static constexpr std::tuple parameters{Parameter{"operation", &CalculateArguments::operation},
                                         Parameter{"a", &CalculateArguments::a},
                                         Parameter{"b", &CalculateArguments::b}};
};

struct CalculatePlan {
  std::int64_t result;
};

inline constexpr Condition operation_is_known{"name_is_known", "there is no operation {}",
                                              "use +, -, *, //, %, min or max"};
inline constexpr Condition operands_are_numbers{"argument_has_type", "an operand of {} is missing",
                                                "pass two numbers, given or chosen by a step"};
inline constexpr Condition result_is_a_number{
    "number_is_in_range", "{} {} {} is no number of 64 bits",
    "divide by a number other than 0, and keep results below 2**63"};
inline constexpr const Condition* calculate_conditions[] = {
    &operation_is_known, &operands_are_numbers, &result_is_a_number};

Planned<CalculatePlan> plan_calculate(const Schedule& schedule,
                                      const CalculateArguments& arguments);
ExprRV commit_calculate(Schedule& schedule, CalculatePlan&& plan);

inline constexpr Primitive calculate(PrimitiveDefinition{
    .name = "calculate",
    .doc = "Makes a number of two others, which follows them when other ones are chosen.",
    .conditions = calculate_conditions,
    .required = 3,
    .pure = true,
    .plan = plan_calculate,
    .commit = commit_calculate,
});

}  // namespace loopsmith
