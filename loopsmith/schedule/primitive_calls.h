// SPDX-License-Identifier: Apache-2.0
// What a call of a primitive does, for callers that know its types and for those that do not:
// traces, JSON, Python. Compiled once for each primitive, by the file that lists them.
#pragma once
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "loopsmith/schedule/argument_reader.h"
#include "loopsmith/schedule/legality/concurrent_loops.h"
#include "loopsmith/schedule/legality/empty_inits.h"
#include "loopsmith/schedule/legality/plan_legality.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {

namespace detail {
[[noreturn]] void refuse_argument(std::string_view primitive, const ParameterInfo& parameter,
                                  const Argument& given);
[[noreturn]] void refuse_missing(std::string_view primitive, std::string_view parameter);
/// What a step that throws this is refused by; throws it again where it is no matter of numbers.
Refusal refusal_of(const UserError& error);
/// Records that a block or a loop was looked up by its name.
void record_lookup(Schedule& schedule, std::string_view name, const BlockOrLoop& handle);
}  // namespace detail

/// The reduction that a plan combines in another order; null when there is none.
template <class Plan>
const Argument* reordered_by(const Plan& plan) {
  if constexpr (requires { plan.reordered_reduction; }) {
    return plan.reordered_reduction ? &*plan.reordered_reduction : nullptr;
  }
  return nullptr;
}
template <class... Plans>
const Argument* reordered_by(const std::variant<Plans...>& plan) {
  return std::visit([](const auto& one) { return reordered_by(one); }, plan);
}

/// Asks what a plan says about the order of what runs.
template <class Plan>
std::optional<Refusal> refuse_order(const Schedule& schedule, Plan& plan) {
  if constexpr (requires { refuse_by_order(schedule, plan); }) {
    return refuse_by_order(schedule, plan);
  }
  return {};
}

/// What a plan leaves to the law.
template <class Plan>
std::optional<Preservation> preservation_of(const Plan& plan) {
  if constexpr (requires { plan.preservation; }) return plan.preservation;
  return {};
}
template <class... Plans>
std::optional<Preservation> preservation_of(const std::variant<Plans...>& plan) {
  return std::visit([](const auto& one) { return preservation_of(one); }, plan);
}

/// What it would do, or why it would not. Changes nothing.
template <class Arguments, class Plan, class Made>
Planned<Plan> Primitive<Arguments, Plan, Made>::try_plan(const Schedule& schedule,
                                                         const Arguments& arguments,
                                                         std::optional<Done>& done) const {
  std::optional<Refusal> refusal;
  bool is_of_original = false;
  each([&](const auto& parameter) {
    for_each_handle(arguments.*parameter.member, [&](const auto& handle) {
      if (!refusal) refusal = schedule.refuse(handle);
      is_of_original = is_of_original || handle.schedule != schedule.id();
    });
  });
  if (refusal) return *std::move(refusal);
  if (!is_of_original) return plan_alive(schedule, arguments, done);
  // Of a schedule that this one is a copy of: plans compare handles, so these become its own.
  Arguments own = arguments;
  each([&](const auto& parameter) {
    for_each_handle(own.*parameter.member, [&](auto& handle) { handle.schedule = schedule.id(); });
  });
  return plan_alive(schedule, own, done);
}

template <class Arguments, class Plan, class Made>
Planned<Plan> Primitive<Arguments, Plan, Made>::planned(const Schedule& schedule,
                                                        const Arguments& arguments) const {
  Planned<Plan> planned = plan_(schedule, arguments);
  if (Plan* plan = std::get_if<Plan>(&planned)) {
    if (auto refusal = refuse_order(schedule, *plan)) return *std::move(refusal);
  }
  return planned;
}

/// The same for handles that are alive, and the schedule's own.
template <class Arguments, class Plan, class Made>
Planned<Plan> Primitive<Arguments, Plan, Made>::plan_alive(const Schedule& schedule,
                                                           const Arguments& arguments,
                                                           std::optional<Done>& done) const {
  Planned<Plan> planned = this->planned(schedule, arguments);
  if (const Plan* plan = std::get_if<Plan>(&planned)) {
    if (const Argument* reduction = reordered_by(*plan);
        reduction && !schedule.allows_reassociation()) {
      return Refusal{&reductions_keep_their_order, {*reduction}};
    }
    const auto asked = preservation_of(*plan);
    const bool asks_law = asked && (!asked->is_proved || schedule.verifies_quick_answers());
    const bool runs_concurrently = !pure && schedule.has_concurrent_loops() &&
                                   (!keeps_accesses || has_loops_that_rest_on_inside(schedule));
    const bool may_change_inits =
        schedule.has_empty_reductions() &&
        std::ranges::find(conditions, &step_keeps_results) != conditions.end();
    if (asks_law || runs_concurrently || may_change_inits) {
      Schedule after = schedule.snapshot();
      Made made = commit(after, arguments, Plan(*plan));
      if (may_change_inits) {
        if (auto change = refuse_changed_inits(schedule, after)) return *std::move(change);
      }
      if (asks_law) {
        if (auto change = refuse_changed_results(schedule, after, *asked))
          return *std::move(change);
      }
      if (runs_concurrently) {
        if (auto conflict = refuse_new_conflicts(schedule, after)) return *std::move(conflict);
      }
      done.emplace(Done{std::move(after), std::move(made)});
    }
  }
  return planned;
}

/// The arguments as a step holds them.
template <class Arguments, class Plan, class Made>
std::vector<Argument> Primitive<Arguments, Plan, Made>::written(const Arguments& arguments) {
  std::vector<Argument> values;
  values.reserve(count);
  each([&](const auto& parameter) { values.push_back(to_argument(arguments.*parameter.member)); });
  return values;
}

template <class Arguments, class Plan, class Made>
Made Primitive<Arguments, Plan, Made>::commit(Schedule& schedule, const Arguments& arguments,
                                              Plan&& plan) const {
  schedule.begin_step(*this, written(arguments), reordered_by(plan) != nullptr);
  try {
    Made made = commit_(schedule, std::move(plan));
    schedule.end_step(to_argument(made));
    return made;
  } catch (...) {
    // A commit cannot fail; where one does, nothing has happened.
    schedule.abandon_step();
    throw;
  }
}

/// Does it, or says why not; `reader`: what found handles by their names, which come before it.
template <class Arguments, class Plan, class Made>
std::variant<Made, Refusal> Primitive<Arguments, Plan, Made>::outcome(
    Schedule& schedule, const Arguments& arguments, const ArgumentReader* reader) const try {
  std::optional<Done> done;
  Planned<Plan> planned = try_plan(schedule, arguments, done);
  if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
  const bool records_lookups = reader && !reader->named().empty();  // Those come before the step.
  if (done && !records_lookups) {
    schedule = std::move(done->after);
    return std::move(done->made);
  }
  if (reader) {
    for (const auto& [name, handle] : reader->named())
      detail::record_lookup(schedule, name, handle);
  }
  return commit(schedule, arguments, std::get<Plan>(std::move(planned)));
} catch (const UserError& error) {
  return detail::refusal_of(error);
}

/// Does it, or throws.
template <class Arguments, class Plan, class Made>
Made Primitive<Arguments, Plan, Made>::run(Schedule& schedule, const Arguments& arguments,
                                           const ArgumentReader* reader) const {
  auto result = outcome(schedule, arguments, reader);
  if (auto* refusal = std::get_if<Refusal>(&result)) {
    throw ScheduleError(schedule, *this, written(arguments), std::move(*refusal));
  }
  return std::get<Made>(std::move(result));
}

template <class Arguments, class Plan, class Made>
std::optional<Made> Primitive<Arguments, Plan, Made>::try_run(Schedule& schedule,
                                                              const Arguments& arguments) const {
  auto result = outcome(schedule, arguments, nullptr);
  if (auto* made = std::get_if<Made>(&result)) return std::move(*made);
  return {};
}

template <class Arguments, class Plan, class Made>
std::optional<Refusal> Primitive<Arguments, Plan, Made>::why_not(const Schedule& schedule,
                                                                 const Arguments& arguments) const
    try {
  std::optional<Done> done;
  Planned<Plan> planned = try_plan(schedule, arguments, done);
  if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
  return {};
} catch (const UserError& error) {
  return detail::refusal_of(error);
}

template <class Arguments, class Plan, class Made>
std::vector<ParameterInfo> Primitive<Arguments, Plan, Made>::parameters() const {
  const Arguments defaults{};
  std::vector<ParameterInfo> all;
  each([&](const auto& parameter) {
    const auto& value = defaults.*parameter.member;
    const bool is_required = all.size() < required;
    all.push_back({.name = parameter.name,
                   .doc = parameter.doc,
                   .type = python_type<std::decay_t<decltype(value)>>(),
                   .is_promise = parameter.is_promise,
                   .required = is_required,
                   .default_value = is_required ? Argument() : to_argument(value)});
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
  return to_argument(run(schedule, values, &reader));
}

template <class Arguments, class Plan, class Made>
std::optional<Refusal> Primitive<Arguments, Plan, Made>::refuse(
    const Schedule& schedule, std::span<const Argument* const> arguments) const {
  ArgumentReader reader(schedule);
  return why_not(schedule, read(reader, arguments));
}

template <class Arguments, class Plan, class Made>
std::optional<std::size_t> Primitive<Arguments, Plan, Made>::index_count(
    const Schedule& schedule, std::span<const Argument* const> arguments) const {
  if (!index_count_) return {};
  ArgumentReader reader(schedule);
  const Arguments values = read(reader, arguments);
  bool is_refused = false;
  each([&](const auto& parameter) {
    for_each_handle(values.*parameter.member, [&](const auto& handle) {
      is_refused = is_refused || schedule.refuse(handle);
    });
  });
  return is_refused ? 0 : index_count_(schedule, values);
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
