// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/calculate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {
namespace {

constexpr std::array<std::string_view, 7> known_operations{"+", "-", "*", "//", "%", "min", "max"};

/// What the operation gives; nullopt where 64 bits do not hold it, or it divides by 0.
std::optional<std::int64_t> result_of(std::string_view operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (operation == "+") {
    if (__builtin_add_overflow(a, b, &result)) return {};
  } else if (operation == "-") {
    if (__builtin_sub_overflow(a, b, &result)) return {};
  } else if (operation == "*") {
    if (__builtin_mul_overflow(a, b, &result)) return {};
  } else if (operation == "//" || operation == "%") {
    if (b == 0 || (a == INT64_MIN && b == -1)) return {};
    result = operation == "//" ? arith::floor_quotient(a, b) : arith::floor_remainder(a, b);
  } else {
    result = operation == "min" ? std::min(a, b) : std::max(a, b);
  }
  return result;
}

}  // namespace

Planned<CalculatePlan> plan_calculate(const Schedule& schedule,
                                      const CalculateArguments& arguments) {
  const std::string& operation = arguments.operation;
  if (std::ranges::find(known_operations, operation) == known_operations.end()) {
    return Refusal{&operation_is_known, {Argument(operation)}};
  }
  const auto a = schedule.get(arguments.a);
  const auto b = schedule.get(arguments.b);
  if (!a || !b) return Refusal{&operands_are_numbers, {Argument(operation)}};
  const auto result = result_of(operation, *a, *b);
  if (!result) {
    return Refusal{&result_is_a_number, {Argument(*a), Argument(operation), Argument(*b)}};
  }
  return CalculatePlan{*result};
}

ExprRV commit_calculate(Schedule& schedule, CalculatePlan&& plan) {
  return schedule.add_hole(plan.result);
}

}  // namespace loopsmith
