// SPDX-License-Identifier: Apache-2.0
// What a primitive is: one object, of which the call, the trace and its replay, JSON, the Python
// method and the manual's page are made.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class ArgumentReader;

/// A parameter: the member of the arguments' struct that holds it, and its name. Its default is
/// what the struct's initialiser says.
template <class Arguments, class T>
struct Parameter {
  const char* name;
  T Arguments::* member;
  const char* doc = "";
  bool is_promise = false;  ///< The caller asserts what could not be proved.
};
template <class Arguments, class T>
Parameter(const char*, T Arguments::*, const char*) -> Parameter<Arguments, T>;
template <class Arguments, class T>
Parameter(const char*, T Arguments::*) -> Parameter<Arguments, T>;

/// A parameter that is a promise.
template <class Arguments>
constexpr Parameter<Arguments, bool> promise(const char* name, bool Arguments::* member,
                                             const char* doc) {
  return {name, member, doc, true};
}

/// The result of a primitive without results.
struct Nothing {};
inline Argument to_argument(Nothing) {
  return {};
}

/// The definition of a primitive, as its author writes it.
template <class Arguments, class Plan, class Made>
struct PrimitiveDefinition {
  std::string_view name;
  std::string_view past = {};
  std::string_view doc;
  std::span<const Condition* const> conditions = {};
  std::size_t required = 1;
  bool pure = false;
  /// Each iteration of a loop accesses what it did before the step, in the order that it did. Where
  /// that is not said, loops that run their iterations concurrently are checked again after it;
  /// else those alone that rest on the loops and blocks inside.
  bool keeps_accesses = false;
  /// Checks every condition; changes nothing. The handles among the arguments are alive and the
  /// schedule's own. A plan with a member `reordered_reduction`, an optional Argument, says there
  /// which reduction it combines in another order.
  Planned<Plan> (*plan)(const Schedule&, const Arguments&);
  /// Does it. Cannot fail; where it throws all the same, the step is taken back.
  Made (*commit)(Schedule&, Plan&&);
  /// How many indices the argument `index_map` takes by the others, 0 where these are refused.
  std::size_t (*index_count)(const Schedule&, const Arguments&) = nullptr;
};

namespace detail {
struct NoParameter {};
/// The type of parameter I, or one that cannot be passed.
template <class Arguments, std::size_t I>
auto parameter_type() {
  if constexpr (I < std::tuple_size_v<decltype(Arguments::parameters)>) {
    using Member = decltype(std::get<I>(Arguments::parameters).member);
    return []<class T>(T Arguments::*) { return T{}; }(Member{});
  } else {
    return NoParameter{};
  }
}
}  // namespace detail

/// A primitive. Called with a schedule and its arguments, in their order or as a struct by name:
/// `split(sch, i, {infer, 4})`, `split.apply(sch, {.loop = i, .factors = {infer, 4}})`.
/// What it does with them is compiled once: see primitive_calls.h.
template <class Arguments, class Plan, class Made>
class Primitive : public PrimitiveBase {
  template <std::size_t I>
  using P = decltype(detail::parameter_type<Arguments, I>());
  static constexpr std::size_t count = std::tuple_size_v<decltype(Arguments::parameters)>;

 public:
  constexpr explicit Primitive(const PrimitiveDefinition<Arguments, Plan, Made>& definition)
      : PrimitiveBase(definition.name, definition.past, definition.doc, definition.conditions,
                      definition.required, definition.pure, definition.keeps_accesses),
        plan_(definition.plan),
        commit_(definition.commit),
        index_count_(definition.index_count) {}

  bool can_apply(const Schedule& schedule, const Arguments& arguments) const {
    return !why_not(schedule, arguments);
  }
  Made apply(Schedule& schedule, const Arguments& arguments) const {
    return run(schedule, arguments, nullptr);
  }
  /// Why it cannot be applied, if it cannot.
  std::optional<Refusal> refusal_of(const Schedule& schedule, const Arguments& arguments) const {
    return why_not(schedule, arguments);
  }
  /// Does it as a part of the step that is being done: for commits of primitives that are made of
  /// others, whose plans have asked each on a snapshot.
  Made apply_within(Schedule& schedule, const Arguments& arguments) const {
    return commit_(schedule, std::get<Plan>(planned(schedule, arguments)));
  }
  /// What it would do as a part of another step: its form, and the order of what runs, are asked.
  virtual Planned<Plan> planned(const Schedule& schedule, const Arguments& arguments) const;

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

  /// The same, for callers that go on where it is refused: nothing then, and no error is made.
  std::optional<Made> attempt(Schedule& s, const P<0>& a) const { return try_run(s, {a}); }
  std::optional<Made> attempt(Schedule& s, const P<0>& a, const P<1>& b) const {
    return try_run(s, {a, b});
  }
  std::optional<Made> attempt(Schedule& s, const P<0>& a, const P<1>& b, const P<2>& c) const {
    return try_run(s, {a, b, c});
  }

  std::vector<ParameterInfo> parameters() const override;
  std::string result_type() const override;
  Argument call(Schedule& schedule, std::span<const Argument* const> arguments) const override;
  std::optional<Refusal> refuse(const Schedule& schedule,
                                std::span<const Argument* const> arguments) const override;
  std::optional<std::size_t> index_count(const Schedule& schedule,
                                         std::span<const Argument* const> arguments) const override;

 private:
  template <class Visit>
  static void each(Visit&& visit) {
    std::apply([&](const auto&... parameter) { (visit(parameter), ...); }, Arguments::parameters);
  }

  // Virtual, as `call` is, only so that they are compiled where it is, not in each caller.
  virtual std::optional<Refusal> why_not(const Schedule& schedule,
                                         const Arguments& arguments) const;
  virtual Made run(Schedule& schedule, const Arguments& arguments,
                   const ArgumentReader* reader) const;
  virtual std::optional<Made> try_run(Schedule& schedule, const Arguments& arguments) const;

  /// A schedule after the step, with what the step made.
  struct Done {
    Schedule after;
    Made made;
  };

  /// Where the step was done to see what it changes, `done` has it.
  Planned<Plan> try_plan(const Schedule& schedule, const Arguments& arguments,
                         std::optional<Done>& done) const;
  Planned<Plan> plan_alive(const Schedule& schedule, const Arguments& arguments,
                           std::optional<Done>& done) const;
  static std::vector<Argument> written(const Arguments& arguments);
  std::variant<Made, Refusal> outcome(Schedule& schedule, const Arguments& arguments,
                                      const ArgumentReader* reader) const;
  Made commit(Schedule& schedule, const Arguments& arguments, Plan&& plan) const;
  Arguments read(ArgumentReader& reader, std::span<const Argument* const> arguments) const;

  Planned<Plan> (*plan_)(const Schedule&, const Arguments&);
  Made (*commit_)(Schedule&, Plan&&);
  std::size_t (*index_count_)(const Schedule&, const Arguments&);
};

template <class Arguments, class Plan, class Made>
Primitive(PrimitiveDefinition<Arguments, Plan, Made>) -> Primitive<Arguments, Plan, Made>;

}  // namespace loopsmith
