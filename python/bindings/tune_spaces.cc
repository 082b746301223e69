// SPDX-License-Identifier: Apache-2.0
// Spaces. Functions and rules of Python are called with the interpreter lock; all else runs
// without.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/python_calls.h"
#include "bindings/schedule.h"
#include "bindings/tune.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/spaces/own_space.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// Gives Python a schedule as an object of its own, which it may keep, and takes it back.
template <class Call>
nb::object with_schedule(Schedule& schedule, Call&& call) {
  const nb::object sch = nb::cast(PySchedule{std::move(schedule)});
  nb::object made = call(sch);
  Schedule& taken = schedule_of(sch).schedule;
  schedule = Py_REFCNT(sch.ptr()) == 1 ? std::move(taken) : taken.copy();
  return made;
}

/// A function of Python as steps.
tune::Steps steps_of(nb::object function) {
  return [function = held(std::move(function))](Schedule& schedule) {
    in_python([&] {
      with_schedule(schedule, [&](const nb::object& sch) {
        const nb::object made = (*function)(sch);
        require(made.is_none(), ErrorKind::type_mismatch, "space_returns_none",
                hint("take the steps on the schedule that is given; return nothing"), {},
                "tune: the space returned {}, expected None", nb::type_name(made.type()).c_str());
        return made;
      });
    });
  };
}

/// The rules of Python: objects with a method `apply` that gets a schedule and a block.
std::vector<tune::BlockRule> rules_of(const nb::list& rules) {
  std::vector<tune::BlockRule> made;
  for (const nb::handle each : rules) {
    const nb::handle kind = each.type();
    std::string name = nb::cast<std::string>(kind.attr("__module__")) + "." +
                       nb::cast<std::string>(kind.attr("__qualname__"));
    const Held rule = held(nb::borrow(each));
    made.push_back({std::move(name), [rule](Schedule& schedule, BlockRV block) {
                      return in_python([&] {
                        return nb::cast<bool>(with_schedule(schedule, [&](const nb::object& sch) {
                          const nb::object handle = nb::cast(PyHandle<BlockRV>{block, sch});
                          const nb::object said = rule->attr("apply")(sch, handle);
                          require(nb::isinstance<nb::bool_>(said), ErrorKind::type_mismatch,
                                  "rule_says_whether_it_applied",
                                  hint("return True, or False before the first step"), {},
                                  "tune: the rule returned {}, expected True or False",
                                  nb::type_name(said.type()).c_str());
                          return said;
                        }));
                      });
                    }});
  }
  return made;
}

PySchedule drawn(const tune::Space& space, const Ptr<PrimFunc>& func, std::int64_t seed,
                 nb::handle decisions) {
  tune::Decisions told = to_decisions(decisions);
  const Unlocked unlocked;
  return {tune::drawn(func, space, seed, std::move(told))};
}

/// The space of a program that comes without one.
struct WithDefault : tune::Space {};

}  // namespace

void bind_tune_spaces(nb::module_& m) {
  nb::class_<tune::Space>(m, "Space",
                          "The schedules that some steps make of a function, by what they sample.")
      .def(
          "__init__",
          [](tune::Space* self, nb::object steps, std::string name) {
            new (self) tune::Space{.steps = steps_of(std::move(steps)), .name = std::move(name)};
          },
          nb::arg("steps"), nb::arg("name"),
          nb::sig("def __init__(self, steps: typing.Callable[[Schedule], None], name: str) -> "
                  "None"))
      .def_ro("name", &tune::Space::name, "What tells it from others.")
      .def_ro("is_concurrent", &tune::Space::is_concurrent, "Whether threads may draw at once.")
      .def_prop_ro(
          "starts",
          [](const tune::Space& self) {
            nb::list starts;
            for (const tune::Decisions& each : self.starts) starts.append(from_decisions(each));
            return starts;
          },
          nb::for_getter(nb::sig("def starts(self) -> list[list[tuple[str, typing.Any]]]")),
          "What the samples decide of candidates that are tried before others.")
      .def(
          "__call__",
          [](const tune::Space& self, nb::handle sch) {
            Schedule& schedule = schedule_of(sch).schedule;
            const Unlocked unlocked;
            self.steps(schedule);
          },
          nb::arg("sch"), nb::sig("def __call__(self, sch: Schedule) -> None"),
          "Take the steps, while other threads of Python run.")
      .def("drawn", drawn, nb::arg("func"), nb::arg("seed"), nb::arg("decisions"),
           nb::sig("def drawn(self, func: PrimFunc, seed: int, decisions: "
                   "typing.Sequence[tuple[str, typing.Any]]) -> Schedule"),
           "Return the schedule of a seed, whose first samples decide as told, as far as they may.")
      .def_static(
          "after",
          [](const Trace& trace, const tune::Space* space) {
            return tune::after(trace, space ? *space : tune::Space());
          },
          nb::arg("trace"), nb::arg("space").none(),
          nb::sig("def after(trace: Trace, space: Space | None) -> Space"),
          "Return the steps of a trace, whose samples decide anew, and then those of a space.")
      .def(
          "locked",
          [](const tune::Space& self, const std::string& numerics) {
            return tune::locked(self, numerics_of(numerics));
          },
          nb::arg("numerics"), nb::sig("def locked(self, numerics: str) -> Space"),
          "Return the space whose steps keep results to the bit, as a lock asks for.");
  nb::class_<WithDefault, tune::Space>(
      m, "WithDefault",
      "The space of a program that has no steps: a function of a schedule, as all spaces are.\n\n"
      "Its first sample chooses between the default schedule for a target and a number of "
      "threads,\n"
      "whose numbers are then samples, and the generated space. A default schedule that leaves\n"
      "nothing to decide is one point, which is drawn seldom.")
      .def(
          "__init__",
          [](WithDefault* self, const Ptr<PrimFunc>& func, const Target& target,
             std::optional<int> num_threads, const nb::list& rules) {
            BuildOptions options;
            if (num_threads) options.runtime.pool = make_pool({.num_threads = *num_threads});
            new (self) WithDefault{tune::with_default(func, target, options, rules_of(rules))};
          },
          nb::arg("func"), nb::arg("target"), nb::arg("num_threads").none(),
          nb::arg("rules") = nb::list(),
          nb::sig("def __init__(self, func: PrimFunc, target: Target | str, num_threads: int | "
                  "None, rules: list[typing.Any] = []) -> None"));
  m.def(
      "generated_with",
      [](const Target& target, const nb::list& rules) {
        return tune::generated_for(target, rules_of(rules));
      },
      nb::arg("target"), nb::arg("rules"),
      nb::sig("def generated_with(target: Target, rules: list[typing.Any]) -> Space"),
      "Return the generated space for a target, with rules for blocks beside its own ways.");
  m.attr("generated_space") = nb::cast(tune::generated());
  m.attr("generated_space_for_gpu") = nb::cast(tune::generated_for_gpu());
}

}  // namespace loopsmith::python
