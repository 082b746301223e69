// SPDX-License-Identifier: Apache-2.0
// The searches for schedules of one function, step by step, with what Python measures by.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/interpreter_lock.h"
#include "bindings/python_calls.h"
#include "bindings/schedule.h"
#include "bindings/tune.h"
#include "loopsmith/tune/sizes_task.h"
#include "loopsmith/tune/task.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

/// The time that `time.monotonic` tells so.
Clock::time_point time_point_of(double seconds) {
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(Seconds(seconds)));
}

std::string text_of(const nb::object& object) {
  return object.is_none() ? std::string() : nb::cast<std::string>(nb::str(object));
}

/// What a runner of Python returned.
tune::Outcome outcome_of(nb::handle given) {
  const auto seconds = [&](const char* name) {
    return nb::cast<std::vector<double>>(nb::list(given.attr(name)));
  };
  return {.samples = seconds("samples"),
          .others = seconds("default_samples"),
          .cold = seconds("cold"),
          .other_cold = seconds("default_cold"),
          .failure = text_of(given.attr("failure")),
          .detail = text_of(given.attr("detail")),
          .flops = nb::cast<double>(given.attr("flops")),
          .bytes = nb::cast<double>(given.attr("bytes"))};
}

std::vector<tune::Outcome> outcomes_of(nb::handle given) {
  std::vector<tune::Outcome> made;
  for (const nb::handle each : nb::list(given)) made.push_back(outcome_of(each));
  return made;
}

/// An object of Python with the methods of a `tune::Measurer`.
tune::Measurer measurer_of(nb::object object) {
  tune::Measurer made;
  made.parallelism = nb::cast<std::size_t>(object.attr("parallelism"));
  made.batch = nb::cast<std::size_t>(object.attr("batch"));
  const Held measurer = held(std::move(object));
  made.measure = [measurer](const std::vector<tune::Candidate>& some, std::size_t point,
                            double best) {
    return in_python([&] { return outcomes_of(measurer->attr("measure")(some, point, best)); });
  };
  made.measure_reference = [measurer](std::size_t point) {
    return in_python([&] { return outcome_of(measurer->attr("measure_reference")(point)); });
  };
  made.duel = [measurer](const tune::Candidate& candidate, std::size_t point) {
    return in_python([&] { return outcome_of(measurer->attr("duel")(candidate, point)); });
  };
  made.check = [measurer](const tune::Candidate& candidate, std::size_t point) {
    return in_python([&] { return outcome_of(measurer->attr("check")(candidate, point)); });
  };
  made.prepare = [measurer](const std::vector<tune::Candidate>& some) {
    in_python([&] { measurer->attr("prepare")(some); });
  };
  return made;
}

/// A search of Python.
void make_sized_search(tune::SizedSearch* self, nb::object search,
                       const std::optional<tune::DrawnSizes>& point) {
  auto* own = nb::inst_ptr<tune::Search>(search);
  tune::SizedSearch made{.search = {}, .next = next_candidates_of(search)};
  made.search = std::shared_ptr<tune::Search>(held(std::move(search)), own);
  if (point) made.point = *point;
  new (self) tune::SizedSearch(std::move(made));
}

/// Searches go on with the trials of a log, an object with the methods `all` and `add`, or None.
tune::TaskParts parts_of(std::vector<tune::SizedSearch> searches, const nb::object& log,
                         nb::object measurer, nb::object on_trial, double begun) {
  tune::TaskParts parts{.measurer = measurer_of(std::move(measurer)),
                        .searches = std::move(searches),
                        .begun = time_point_of(begun)};
  if (!log.is_none()) {
    parts.earlier = nb::cast<std::vector<std::vector<tune::LoggedTrial>>>(log.attr("all")());
    parts.keep = [add = held(log.attr("add"))](const std::vector<tune::LoggedTrial>& trials) {
      in_python([&] { (*add)(trials); });
    };
  }
  parts.on_trial = [tell = held(std::move(on_trial))](const tune::Tried& tried) {
    in_python([&] { (*tell)(tried); });
  };
  return parts;
}

void make_task(tune::Task* self, const Ptr<PrimFunc>& func, const tune::SizedSearch& search,
               const nb::object& log, nb::object measurer, nb::object on_trial, double begun) {
  auto parts = parts_of({search}, log, std::move(measurer), std::move(on_trial), begun);
  const Unlocked unlocked;
  new (self) tune::Task(func, std::move(parts));
}

void make_sizes_task(tune::SizesTask* self, const Ptr<PrimFunc>& func,
                     const Ptr<PrimFunc>& reference, std::size_t max_variants,
                     std::vector<tune::SizedSearch> searches, const nb::object& log,
                     nb::object measurer, nb::object on_trial, double begun) {
  auto parts = parts_of(std::move(searches), log, std::move(measurer), std::move(on_trial), begun);
  const Unlocked unlocked;
  new (self) tune::SizesTask(func, reference, max_variants, std::move(parts));
}

std::size_t step(tune::Exploration& task, std::size_t limit, double deadline) {
  const Unlocked unlocked;
  return task.step(limit,
                   [&] { return Seconds(Clock::now().time_since_epoch()).count() < deadline; });
}

nb::tuple best_of_sizes(const tune::SizesTask& task, bool is_measured_again) {
  tune::FoundSizes found = [&] {
    const Unlocked unlocked;
    return task.best(is_measured_again);
  }();
  nb::list schedules;
  for (Schedule& each : found.schedules) schedules.append(PySchedule{each.copy()});
  return nb::make_tuple(schedules, found.decision.tree, found.decision.rows, found.is_checked);
}

nb::object next_task(const nb::list& tasks, int patience, double regret) {
  std::vector<tune::TaskState> states;
  for (const nb::handle task : tasks) {
    states.push_back(nb::cast<const tune::Exploration&>(task[0]).state(nb::cast<double>(task[1])));
  }
  const auto next = tune::next_task(states, patience, regret);
  return next ? nb::cast(*next) : nb::none();
}

void bind_trials(nb::module_& m) {
  nb::class_<tune::Tried>(m, "Trial",
                          "A candidate that was measured, or failed.\n\n"
                          "`failure` is the kind of failure: \"compile error\", \"compile "
                          "timeout\", \"wrong result\",\n"
                          "\"run error\", \"crash\", \"timeout\", \"no time\"; None for none.")
      .def(
          "__init__",
          [](tune::Tried* self, const Trace& trace, double seconds,
             const std::optional<std::string>& failure, std::string detail, double elapsed) {
            new (self) tune::Tried{.trace = trace,
                                   .seconds = seconds,
                                   .failure = failure.value_or(""),
                                   .detail = std::move(detail),
                                   .elapsed = elapsed};
          },
          nb::arg("trace"), nb::arg("seconds"), nb::arg("failure").none(), nb::arg("detail"),
          nb::arg("elapsed"))
      .def_ro("trace", &tune::Tried::trace, "Its steps and decisions.")
      .def_ro("seconds", &tune::Tried::seconds,
              "The median time of a call; infinite where it failed.")
      .def_prop_ro(
          "failure",
          [](const tune::Tried& self) {
            return self.failure.empty() ? std::nullopt : std::optional(self.failure);
          },
          "What kind of failure it was; None for none.")
      .def_ro("detail", &tune::Tried::detail, "What was said of a failure.")
      .def_ro("elapsed", &tune::Tried::elapsed, "Seconds since the search began.");
  nb::class_<tune::Found>(m, "Found", "What a task has found.")
      .def_ro("candidate", &tune::Found::candidate)
      .def_prop_ro(
          "schedule", [](tune::Found& self) { return PySchedule{self.schedule.copy()}; },
          nb::sig("def schedule(self) -> Schedule"), "What the candidate's trace gives.")
      .def_prop_ro("samples", [](const tune::Found& self) { return self.duel.samples; })
      .def_prop_ro("default_samples", [](const tune::Found& self) { return self.duel.others; })
      .def_prop_ro("cold", [](const tune::Found& self) { return self.duel.cold; })
      .def_prop_ro("default_cold", [](const tune::Found& self) { return self.duel.other_cold; })
      .def_ro("is_checked", &tune::Found::is_checked,
              "Whether it was compared with the program as it is written.")
      .def_ro("seconds", &tune::Found::seconds)
      .def_ro("default_seconds", &tune::Found::default_seconds);
}

void bind_exploration(nb::module_& m) {
  nb::class_<tune::SizedSearch>(m, "SizedSearch",
                                "The search for one of the sizes that were drawn; None: arguments "
                                "are always the same.")
      .def("__init__", make_sized_search, nb::arg("search"), nb::arg("point").none() = nb::none(),
           nb::sig("def __init__(self, search: Search, point: DrawnSizes | None = None) -> None"));
  nb::class_<tune::Exploration>(m, "Exploration",
                                "Measures candidates of a function, of a search for each size.")
      .def("step", step, nb::arg("limit"), nb::arg("deadline"),
           nb::sig("def step(self, limit: int, deadline: float) -> int"),
           "Measure more candidates, as many as are measured at once, before `time.monotonic` is\n"
           "`deadline`; return how many. Where no search has one, the task is exhausted.")
      .def_prop_ro("is_exhausted", &tune::Exploration::is_exhausted)
      .def_prop_ro("default_seconds", &tune::Exploration::default_seconds,
                   "The time of the default schedule, of several sizes the weighted mean.")
      .def_prop_ro("best_seconds", &tune::Exploration::best_seconds,
                   "The time of the quickest candidate, of several sizes the mean of the least; "
                   "infinity before\nthere is one.")
      .def_prop_ro("refused", &tune::Exploration::refused,
                   "How many draws were no legal schedule, by what was said.")
      .def_prop_ro(
          "work",
          [](const tune::Exploration& self) {
            return nb::make_tuple(self.reference().flops, self.reference().bytes);
          },
          nb::sig("def work(self) -> tuple[float, float]"),
          "How many operations a call asks for, and how many bytes its tensors have.")
      .def_prop_ro("keep_failure", &tune::Exploration::keep_failure,
                   "Why trials are kept no more; empty while they are.");
  m.def("next_task", &next_task, nb::arg("tasks"), nb::arg("patience"), nb::arg("regret"),
        nb::sig("def next_task(tasks: typing.Sequence[tuple[Exploration, float]], patience: int, "
                "regret: float) -> int | None"),
        "Return which task's next trial promises to save most time; None when all have ended.\n"
        "Each has a weight: how often the function is called.");
}

void bind_tasks(nb::module_& m) {
  nb::class_<tune::Task, tune::Exploration>(
      m, "Task",
      "The search for a schedule of one function, step by step.\n\n"
      "It goes on with the trials of `log`, an object with the methods `all` and `add`, or None;\n"
      "`measurer` has the methods `measure`, `measure_reference`, `duel`, `check` and `prepare`;\n"
      "`on_trial` is told of each candidate.")
      .def("__init__", make_task, nb::arg("func"), nb::arg("search"), nb::arg("log").none(),
           nb::arg("measurer"), nb::arg("on_trial"), nb::arg("begun"),
           nb::sig("def __init__(self, func: PrimFunc, search: SizedSearch, log: typing.Any, "
                   "measurer: typing.Any, on_trial: typing.Callable[[Trial], typing.Any], begun: "
                   "float) -> None"))
      .def(
          "best", &tune::Task::best, nb::arg("finalists"), nb::call_guard<Unlocked>(),
          "Return the quickest of so many, measured beside the default schedule and checked; with "
          "0,\nthe quickest so far. Raises UserError where there is none that gave right results.");
  nb::class_<tune::SizesTask, tune::Exploration>(
      m, "SizesTask",
      "The search for schedules of one function whose sizes vary, step by step.\n\n"
      "`reference` is variant 0; at most so many variants are beside it. The rest is as in `Task`.")
      .def("__init__", make_sizes_task, nb::arg("func"), nb::arg("reference"),
           nb::arg("max_variants"), nb::arg("searches"), nb::arg("log").none(), nb::arg("measurer"),
           nb::arg("on_trial"), nb::arg("begun"),
           nb::sig("def __init__(self, func: PrimFunc, reference: PrimFunc, max_variants: int, "
                   "searches: list[SizedSearch], log: typing.Any, measurer: typing.Any, on_trial: "
                   "typing.Callable[[Trial], typing.Any], begun: float) -> None"))
      .def(
          "best", best_of_sizes, nb::arg("is_measured_again"),
          nb::sig("def best(self, is_measured_again: bool) -> tuple[list[Schedule], SizeTree, "
                  "list[SizedRow], bool]"),
          "Return the variants that together save most, the tree between them, what each size "
          "takes, and\nwhether their function was compared with the program as it is written. They "
          "are measured again\nbeside the default schedule, or are as they were measured. Raises "
          "UserError where there is none,\nor their function is wrong.");
}

}  // namespace

void bind_tune_task(nb::module_& m) {
  bind_trials(m);
  bind_exploration(m);
  bind_tasks(m);
}

}  // namespace loopsmith::python
