// SPDX-License-Identifier: Apache-2.0
// What a primitive is: one object, of which the call, the trace and its replay, JSON, the Python
// method and the manual's page are made.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A parameter: the member of the arguments' struct that holds it, and its name. Its default is
/// what the struct's initialiser says.
template <class Arguments, class T>
struct Parameter {
  const char* name;
  T Arguments::* member;
  const char* doc = "";
};
template <class Arguments, class T>
Parameter(const char*, T Arguments::*, const char*) -> Parameter<Arguments, T>;
template <class Arguments, class T>
Parameter(const char*, T Arguments::*) -> Parameter<Arguments, T>;

/// A parameter as the type-erased faces see it.
struct ParameterInfo {
  std::string_view name;
  std::string_view doc;
  std::string type;  ///< In Python.
  bool required = false;
  Argument otherwise;  ///< The default.
};

/// A primitive with its types forgotten.
class PrimitiveBase {
 public:
  std::string_view name;
  std::string_view past;  ///< What became of what it consumed: `split` in "i was split at step 3".
  std::string_view doc;
  std::span<const Condition* const> conditions;
  std::size_t required;  ///< How many parameters have no default; they come first.
  bool pure;             ///< Changes nothing: a query, or a choice.

  constexpr PrimitiveBase(std::string_view name, std::string_view past, std::string_view doc,
                          std::span<const Condition* const> conditions, std::size_t required,
                          bool pure)
      : name(name),
        past(past.empty() ? name : past),
        doc(doc),
        conditions(conditions),
        required(required),
        pure(pure) {}

  virtual std::vector<ParameterInfo> parameters() const = 0;
  /// How Python writes the type of the result.
  virtual std::string result_type() const = 0;
  /// Applies it. A null argument is the parameter's default. Throws a ScheduleError when it is
  /// refused, a UserError when an argument is of a wrong type.
  virtual Argument call(Schedule& schedule, std::span<const Argument* const> arguments) const = 0;
  /// Why it cannot be applied, if it cannot.
  virtual std::optional<Refusal> refuse(const Schedule& schedule,
                                        std::span<const Argument* const> arguments) const = 0;

 protected:
  ~PrimitiveBase() = default;
};

/// What a primitive that gives nothing gives.
struct Nothing {};
inline Argument to_argument(Nothing) {
  return {};
}

/// What an author writes down of a primitive.
template <class Arguments, class Plan, class Made>
struct PrimitiveDefinition {
  std::string_view name;
  std::string_view past = {};
  std::string_view doc;
  std::span<const Condition* const> conditions = {};
  std::size_t required = 1;
  bool pure = false;
  /// Checks every condition; changes nothing. The handles among the arguments are alive.
  Planned<Plan> (*plan)(const Schedule&, const Arguments&);
  /// Does it. Cannot fail.
  Made (*commit)(Schedule&, Plan&&);
};

namespace detail {
struct NoParameter {};
/// The type of parameter I, or one that nobody can pass.
template <class Arguments, std::size_t I>
auto parameter_type() {
  if constexpr (I < std::tuple_size_v<decltype(Arguments::parameters)>) {
    using Member = decltype(std::get<I>(Arguments::parameters).member);
    return []<class T>(T Arguments::*) { return T{}; }(Member{});
  } else {
    return NoParameter{};
  }
}
[[noreturn]] void refuse_argument(std::string_view primitive, const ParameterInfo& parameter);
[[noreturn]] void refuse_missing(std::string_view primitive, std::string_view parameter);
}  // namespace detail

/// A primitive. Called with a schedule and its arguments, in their order or as a struct by name:
/// `split(sch, i, {infer, 4})`, `split.apply(sch, {.loop = i, .factors = {infer, 4}})`.
template <class Arguments, class Plan, class Made>
class Primitive final : public PrimitiveBase {
  template <std::size_t I>
  using P = decltype(detail::parameter_type<Arguments, I>());
  static constexpr std::size_t count = std::tuple_size_v<decltype(Arguments::parameters)>;

 public:
  constexpr explicit Primitive(const PrimitiveDefinition<Arguments, Plan, Made>& definition)
      : PrimitiveBase(definition.name, definition.past, definition.doc, definition.conditions,
                      definition.required, definition.pure),
        plan_(definition.plan),
        commit_(definition.commit) {}

  /// What it would do, or why it would not. Changes nothing.
  Planned<Plan> try_plan(const Schedule& schedule, const Arguments& arguments) const {
    std::optional<Refusal> refusal;
    each([&](const auto& parameter) {
      for_each_handle(arguments.*parameter.member, [&](const auto& handle) {
        if (!refusal) refusal = schedule.refuse(handle);
      });
    });
    if (refusal) return *std::move(refusal);
    return plan_(schedule, arguments);
  }
  bool can_apply(const Schedule& schedule, const Arguments& arguments) const {
    return std::holds_alternative<Plan>(try_plan(schedule, arguments));
  }
  Made apply(Schedule& schedule, const Arguments& arguments) const {
    return commit(schedule, arguments, accepted(schedule, arguments));
  }

  Made operator()(Schedule& s) const { return apply(s, {}); }
  Made operator()(Schedule& s, const P<0>& a) const { return apply(s, {a}); }
  Made operator()(Schedule& s, const P<0>& a, const P<1>& b) const { return apply(s, {a, b}); }
  Made operator()(Schedule& s, const P<0>& a, const P<1>& b, const P<2>& c) const {
    return apply(s, {a, b, c});
  }
  Made operator()(Schedule& s, const P<0>& a, const P<1>& b, const P<2>& c, const P<3>& d) const {
    return apply(s, {a, b, c, d});
  }
  Made operator()(Schedule& s, const P<0>& a, const P<1>& b, const P<2>& c, const P<3>& d,
                  const P<4>& e) const {
    return apply(s, {a, b, c, d, e});
  }

  std::vector<ParameterInfo> parameters() const override {
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
  std::string result_type() const override {
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

  Argument call(Schedule& schedule, std::span<const Argument* const> arguments) const override {
    ArgumentReader reader(schedule);
    const Arguments values = read(reader, arguments);
    Plan plan = accepted(schedule, values);
    for (const auto& [name, handle] : reader.named()) schedule.record_lookup(name, handle);
    return to_argument(commit(schedule, values, std::move(plan)));
  }
  std::optional<Refusal> refuse(const Schedule& schedule,
                                std::span<const Argument* const> arguments) const override {
    ArgumentReader reader(schedule);
    Planned<Plan> result = try_plan(schedule, read(reader, arguments));
    if (auto* refusal = std::get_if<Refusal>(&result)) return std::move(*refusal);
    return {};
  }

 private:
  template <class Visit>
  static void each(Visit&& visit) {
    std::apply([&](const auto&... parameter) { (visit(parameter), ...); }, Arguments::parameters);
  }

  Plan accepted(const Schedule& schedule, const Arguments& arguments) const {
    Planned<Plan> result = try_plan(schedule, arguments);
    if (auto* refusal = std::get_if<Refusal>(&result)) {
      throw ScheduleError(schedule, *this, written(arguments), std::move(*refusal));
    }
    return std::get<Plan>(std::move(result));
  }

  /// The arguments as a step holds them.
  static std::vector<Argument> written(const Arguments& arguments) {
    std::vector<Argument> values;
    values.reserve(count);
    each(
        [&](const auto& parameter) { values.push_back(to_argument(arguments.*parameter.member)); });
    return values;
  }

  Made commit(Schedule& schedule, const Arguments& arguments, Plan&& plan) const {
    schedule.begin_step(*this, written(arguments));
    Made made = commit_(schedule, std::move(plan));
    schedule.end_step(to_argument(made));
    return made;
  }

  Arguments read(ArgumentReader& reader, std::span<const Argument* const> arguments) const {
    Arguments values{};
    std::size_t i = 0;
    each([&](const auto& parameter) {
      const Argument* given = i < arguments.size() ? arguments[i] : nullptr;
      if (given && !reader.read(*given, values.*parameter.member)) {
        detail::refuse_argument(name, parameters()[i]);
      }
      if (!given && i < required) detail::refuse_missing(name, parameter.name);
      ++i;
    });
    return values;
  }

  Planned<Plan> (*plan_)(const Schedule&, const Arguments&);
  Made (*commit_)(Schedule&, Plan&&);
};

template <class Arguments, class Plan, class Made>
Primitive(PrimitiveDefinition<Arguments, Plan, Made>) -> Primitive<Arguments, Plan, Made>;

}  // namespace loopsmith
