// SPDX-License-Identifier: Apache-2.0
// How primitives are called by those who do not know their types: traces, JSON, Python. Compiled
// once for each primitive, by the file that lists them.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

namespace detail {
[[noreturn]] void refuse_argument(std::string_view primitive, const ParameterInfo& parameter,
                                  const Argument& given);
[[noreturn]] void refuse_missing(std::string_view primitive, std::string_view parameter);
}  // namespace detail

template <class Arguments, class Plan, class Made>
std::vector<ParameterInfo> Primitive<Arguments, Plan, Made>::parameters() const {
  const Arguments defaults{};
  std::vector<ParameterInfo> all;
  each([&](const auto& parameter) {
    const auto& value = defaults.*parameter.member;
    const bool is_required = all.size() < required;
    all.push_back({parameter.name, parameter.doc, python_type<std::decay_t<decltype(value)>>(),
                   is_required, is_required ? Argument() : to_argument(value)});
  });
  return all;
}

template <class Arguments, class Plan, class Made>
std::string Primitive<Arguments, Plan, Made>::result_type() const {
  if constexpr (std::is_same_v<Made, Nothing>)
    return "None";
  else if constexpr (std::is_same_v<Made, LoopRV>)
    return "LoopRV";
  else if constexpr (std::is_same_v<Made, BlockRV>)
    return "BlockRV";
  else if constexpr (std::is_same_v<Made, ExprRV>)
    return "ExprRV";
  else if constexpr (std::is_same_v<Made, Handles<LoopRV>>)
    return "list[LoopRV]";
  else if constexpr (std::is_same_v<Made, Handles<BlockRV>>)
    return "list[BlockRV]";
  else
    return "list[ExprRV]";
}

template <class Arguments, class Plan, class Made>
Argument Primitive<Arguments, Plan, Made>::call(Schedule& schedule,
                                                std::span<const Argument* const> arguments) const {
  ArgumentReader reader(schedule);
  const Arguments values = read(reader, arguments);
  Plan plan = accepted(schedule, values);
  for (const auto& [name, handle] : reader.named()) schedule.record_lookup(name, handle);
  return to_argument(commit(schedule, values, std::move(plan)));
}

template <class Arguments, class Plan, class Made>
std::optional<Refusal> Primitive<Arguments, Plan, Made>::refuse(
    const Schedule& schedule, std::span<const Argument* const> arguments) const {
  ArgumentReader reader(schedule);
  Planned<Plan> result = try_plan(schedule, read(reader, arguments));
  if (auto* refusal = std::get_if<Refusal>(&result)) return std::move(*refusal);
  return {};
}

template <class Arguments, class Plan, class Made>
Arguments Primitive<Arguments, Plan, Made>::read(ArgumentReader& reader,
                                                 std::span<const Argument* const> arguments) const {
  Arguments values{};
  std::size_t i = 0;
  each([&](const auto& parameter) {
    const Argument* given = i < arguments.size() ? arguments[i] : nullptr;
    if (given && !reader.read(*given, values.*parameter.member)) {
      detail::refuse_argument(name, parameters()[i], *given);
    }
    if (!given && i < required) detail::refuse_missing(name, parameter.name);
    ++i;
  });
  return values;
}

}  // namespace loopsmith
