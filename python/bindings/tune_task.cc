// SPDX-License-Identifier: Apache-2.0
// The search for a schedule of one function, step by step, with what Python measures by.
#include <nanobind/nanobind.h>
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
  made.measure = [measurer](const std::vector<tune::Candidate>& some, double best) {
    return in_python([&] { return outcomes_of(measurer->attr("measure")(some, best)); });
  };
  made.measure_reference = [measurer] {
    return in_python([&] { return outcome_of(measurer->attr("measure_reference")()); });
  };
  made.duel = [measurer](const tune::Candidate& candidate) {
    return in_python([&] { return outcome_of(measurer->attr("duel")(candidate)); });
  };
  made.check = [measurer](const tune::Candidate& candidate) {
    return in_python([&] { return outcome_of(measurer->attr("check")(candidate)); });
  };
  made.prepare = [measurer](const std::vector<tune::Candidate>& some) {
    in_python([&] { measurer->attr("prepare")(some); });
  };
  return made;
}

void make_task(tune::Task* self, const Ptr<PrimFunc>& func, nb::object search, nb::object measurer,
               nb::object on_trial, double begun, std::vector<tune::LoggedTrial> earlier,
               nb::object keep) {
  auto* own = nb::inst_ptr<tune::Search>(search);
  tune::TaskParts parts{.measurer = measurer_of(std::move(measurer)),
                        .next = next_candidates_of(search),
                        .earlier = std::move(earlier),
                        .begun = time_point_of(begun)};
  parts.on_trial = [tell = held(std::move(on_trial))](const tune::Tried& tried) {
    in_python([&] { (*tell)(tried); });
  };
  if (!keep.is_none()) {
    parts.keep = [keep = held(std::move(keep))](const tune::LoggedTrial& trial) {
      in_python([&] { (*keep)(trial); });
    };
  }
  std::shared_ptr<tune::Search> shared(held(std::move(search)), own);
  const Unlocked unlocked;
  new (self) tune::Task(func, std::move(shared), std::move(parts));
}

std::size_t step(tune::Task& task, std::size_t limit, double deadline) {
  const Unlocked unlocked;
  return task.step(limit,
                   [&] { return Seconds(Clock::now().time_since_epoch()).count() < deadline; });
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

void bind_tasks(nb::module_& m) {
  m.def("require_candidate", &tune::require_candidate, nb::arg("has_one"), nb::arg("func"),
        nb::arg("trials"), nb::arg("said"),
        "Raise the UserError that no candidate worked, and what was said of the first, unless one "
        "did.");
  nb::class_<tune::Task>(m, "Task",
                         "The search for a schedule of one function, step by step.\n\n"
                         "`measurer` has the methods `measure`, `measure_reference`, `duel`, "
                         "`check` and `prepare`;\n`on_trial` is told of each candidate, `keep` "
                         "keeps it.")
      .def("__init__", make_task, nb::arg("func"), nb::arg("search"), nb::arg("measurer"),
           nb::arg("on_trial"), nb::arg("begun"), nb::arg("earlier"), nb::arg("keep").none(),
           nb::sig("def __init__(self, func: PrimFunc, search: Search, measurer: typing.Any, "
                   "on_trial: typing.Callable[[Trial], typing.Any], begun: float, earlier: "
                   "list[LoggedTrial], keep: typing.Callable[[LoggedTrial], typing.Any] | None) "
                   "-> None"))
      .def("step", step, nb::arg("limit"), nb::arg("deadline"),
           nb::sig("def step(self, limit: int, deadline: float) -> int"),
           "Measure more candidates, as many as are measured at once, before `time.monotonic` is\n"
           "`deadline`; return how many. Where there is none, the task is exhausted.")
      .def("best", &tune::Task::best, nb::arg("finalists"), nb::call_guard<Unlocked>(),
           "Return the quickest of so many, measured beside the default schedule and checked; with "
           "0,\nthe quickest so far. Raises UserError where there is none that gave right results.")
      .def_prop_ro("times", &tune::Task::times, nb::rv_policy::reference_internal)
      .def_prop_ro("is_exhausted", &tune::Task::is_exhausted)
      .def_prop_ro("default_seconds", &tune::Task::default_seconds)
      .def_prop_ro("best_seconds", &tune::Task::best_seconds,
                   "The time of the quickest candidate; infinity before there is one.")
      .def_prop_ro("result_seconds", &tune::Task::result_seconds,
                   "The same, of the default schedule where that is quicker.")
      .def_prop_ro(
          "expected_gain",
          [](const tune::Task& self) { return self.search().expected_gain(self.result_seconds()); },
          "The share of `result_seconds` that the best candidate left is expected to save.")
      .def_prop_ro(
          "refused", [](const tune::Task& self) { return self.search().refused(); },
          "How many draws were no legal schedule, by what was said.")
      .def_prop_ro(
          "work",
          [](const tune::Task& self) {
            return nb::make_tuple(self.reference().flops, self.reference().bytes);
          },
          nb::sig("def work(self) -> tuple[float, float]"),
          "How many operations a call asks for, and how many bytes its tensors have.")
      .def_prop_ro("keep_failure", &tune::Task::keep_failure,
                   "Why trials are kept no more; empty while they are.");
}

}  // namespace

void bind_tune_task(nb::module_& m) {
  bind_trials(m);
  bind_tasks(m);
}

}  // namespace loopsmith::python
