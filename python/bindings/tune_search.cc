// SPDX-License-Identifier: Apache-2.0
// Spaces and searches. Functions, models and mutators of Python are called with the interpreter
// lock; all else runs without.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
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
#include "loopsmith/support/error.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/search/strategies.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Candidates = std::vector<tune::Candidate>;
using Plans = std::vector<std::pair<std::int64_t, nb::object>>;

/// A model: the one that is built in, any object with a method `predict`, or none.
tune::Model model_of(const nb::object& model) {
  if (model.is_none()) return {};
  if (nb::isinstance<CostModel>(model)) return nb::cast<const CostModel&>(model).model();
  tune::Model made;
  made.predict = [predict = held(model.attr("predict"))](const Ptr<PrimFunc>& func) {
    return in_python([&] { return nb::cast<double>(nb::float_((*predict)(func))); });
  };
  if (nb::hasattr(model, "learn")) {
    made.learn = [learn = held(model.attr("learn"))](const Ptr<PrimFunc>& func, double seconds) {
      in_python([&] { (*learn)(func, seconds); });
    };
  }
  made.is_concurrent = nb::cast<bool>(nb::getattr(model, "is_concurrent", nb::bool_(false)));
  return made;
}

tune::SearchParts parts_of(const nb::object& model, const nb::object& mutator,
                           const tune::Sizes& sizes, int threads) {
  tune::SearchParts parts{.model = tune::with_sizes(model_of(model), sizes),
                          .on_pause = look_for_signals};
  if (threads > 0) parts.threads = threads;
  if (mutator.is_none()) return parts;
  const Held random = held(nb::module_::import_("random").attr("Random"));
  parts.mutator = [change = held(mutator), random](const Trace& parent, std::uint64_t seed) {
    return in_python([&] {
      const nb::object changed = (*change)(parent, (*random)(seed));
      return changed.is_none() ? tune::Decisions() : to_decisions(changed);
    });
  };
  return parts;
}

std::optional<tune::Candidate> propose(const nb::object& self) {
  auto& search = nb::cast<tune::Search&>(self);
  const tune::Search::NextCandidates next = next_candidates_of(self);
  const Unlocked unlocked;
  Candidates found = search.propose(1, next);
  if (found.empty()) return {};
  return std::move(found.front());
}

/// Carries out plans, pairs of a seed and of decisions.
std::vector<std::optional<tune::Candidate>> ranked(tune::Search& search, const Plans& plans) {
  std::vector<tune::Search::Plan> made;
  for (const auto& [seed, decisions] : plans) made.push_back({seed, to_decisions(decisions)});
  const Unlocked unlocked;
  return search.ranked(made);
}

/// A strategy of the library.
template <Candidates (*strategy)(tune::Search&)>
Candidates candidates_by(tune::Search& search) {
  const Unlocked unlocked;
  return strategy(search);
}

void bind_candidates(nb::module_& m) {
  nb::class_<tune::Candidate>(m, "Candidate", "A schedule that may be tried.")
      .def(
          "__init__",
          [](tune::Candidate* self, const PySchedule& sch) {
            new (self) tune::Candidate(tune::candidate_of(sch.schedule));
          },
          nb::arg("sch"), nb::sig("def __init__(self, sch: Schedule) -> None"))
      .def_ro("trace", &tune::Candidate::trace, "Its steps.")
      .def_ro("scheduled", &tune::Candidate::func, "The function as it is scheduled.")
      .def_ro("key", &tune::Candidate::program,
              "What is the same for two candidates that are one program.")
      .def_ro("predicted", &tune::Candidate::predicted,
              "What the model says that a call takes; 0 without a model.")
      .def(
          "__eq__",
          [](const tune::Candidate& self, const tune::Candidate& other) {
            return self.program == other.program;
          },
          nb::arg("other"), nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const tune::Candidate& self) { return std::hash<std::string>()(self.program); });
}

void bind_logged_trials(nb::module_& m) {
  nb::class_<tune::LoggedTrial>(m, "LoggedTrial",
                                "A candidate that was measured, as it is kept: its program's hash, "
                                "its trace as JSON, its\ntime; None: it failed.")
      .def(
          "__init__",
          [](tune::LoggedTrial* self, std::string program, std::string trace,
             std::optional<double> seconds) {
            new (self) tune::LoggedTrial{std::move(program), std::move(trace), seconds};
          },
          nb::arg("program"), nb::arg("trace"), nb::arg("seconds").none())
      .def_ro("program", &tune::LoggedTrial::program)
      .def_ro("trace", &tune::LoggedTrial::trace)
      .def_ro("seconds", &tune::LoggedTrial::seconds);
  m.def("search_key", &tune::search_key, nb::arg("func"), nb::arg("target"), nb::arg("space"),
        nb::arg("sizes"),
        "Return what is the same for searches that continue each other: of a program, what it is\n"
        "compiled for, the name of a space, and the symbolic sizes of arguments.");
}

void bind_search(nb::module_& m) {
  nb::class_<tune::Search> search(
      m, "Search", "Proposes schedules of a space, in batches; a subclass says which come next.");
  search.def(
      "__init__",
      [](tune::Search* self, const Ptr<PrimFunc>& func, const tune::Space& space,
         std::uint64_t seed, const nb::object& model, const nb::object& mutator,
         const tune::Sizes& sizes, int threads) {
        new (self) tune::Search(func, space, seed, parts_of(model, mutator, sizes, threads));
      },
      nb::arg("func"), nb::arg("space"), nb::arg("seed"), nb::arg("model").none(),
      nb::arg("mutator").none(), nb::arg("sizes"), nb::arg("threads"),
      nb::sig("def __init__(self, func: PrimFunc, space: Space, seed: int, model: typing.Any, "
              "mutator: typing.Any, sizes: dict[str, int], threads: int) -> None"));
  search.attr("batch_size") = tune::Search::batch_size;
  search.attr("pool_size") = tune::Search::pool_size;
  search.attr("elite") = tune::Search::elite;
  search.def("propose", propose, "Return a candidate; None where nothing new is found any more.")
      .def("learn", &tune::Search::learn, nb::arg("candidate"), nb::arg("seconds"),
           "Take note of what a candidate was measured to take.")
      .def("expected_gain", &tune::Search::expected_gain, nb::arg("best"),
           "Return what the best one left is expected to save, as a share of the best time so far."
           "\nInfinity as long as predictions could not be compared with measurements.")
      .def_prop_ro("refused", &tune::Search::refused,
                   "How many draws were no legal schedule, by what was said.")
      .def_prop_ro("started", &tune::Search::started,
                   "The candidates with which the space starts, once one was asked for.")
      .def_prop_ro("left", &tune::Search::left,
                   "What the model likes of earlier pools, and was not proposed yet.")
      .def_prop_ro("quickest", &tune::Search::quickest,
                   "The traces of the quickest that were measured, the quickest first.")
      .def_prop_ro("has_model", &tune::Search::has_model, "Whether something predicts times.")
      .def_prop_ro("is_learning", &tune::Search::is_learning, "Whether the model learns.")
      .def(
          "bred", &tune::Search::bred, nb::arg("parents"), nb::arg("pool"), nb::arg("size"),
          nb::call_guard<Unlocked>(),
          "Return a pool with more candidates, up to a size if so many are found, those first that "
          "are\npredicted to be quickest. Some are descendants of the parents, which are traces; "
          "some are drawn\nof the whole space.")
      .def("filled", &tune::Search::filled, nb::arg("parents"), nb::arg("pool"), nb::arg("size"),
           nb::call_guard<Unlocked>(), "Return the same, in the order in which they were drawn.")
      .def(
          "chosen", &tune::Search::chosen, nb::arg("pool"), nb::arg("near"),
          "Return a batch: some of `near`, which comes of what was measured, the best of the pool, "
          "and\nany one that is not predicted to take much longer. What is not chosen may be drawn "
          "again, but\nfor the best of it, which is `left` for the next pool, unless a model that "
          "learns will say\nsomething else of it by then.")
      .def("expect", &tune::Search::expect, nb::arg("pool"),
           "Take note of what is predicted of a pool, for `expected_gain`.")
      .def("ranked", ranked, nb::arg("plans"),
           nb::sig("def ranked(self, plans: typing.Sequence[tuple[int, "
                   "typing.Sequence[tuple[str, typing.Any]]]]) -> list[Candidate | None]"),
           "Carry out plans, each a seed and what the first samples decide, and predict; None in "
           "the place\nof what is no legal schedule, or is known.")
      .def(
          "mutated",
          [](tune::Search& self, const Trace& trace) {
            return from_decisions(self.changed(trace));
          },
          nb::arg("trace"),
          nb::sig("def mutated(self, trace: Trace) -> list[tuple[str, typing.Any]]"),
          "Return the decisions of a trace, one of them changed; none where there is nothing.")
      .def("seed", &tune::Search::seed, "Return the seed of a candidate.");
  m.def("evolutionary", candidates_by<tune::evolutionary>, nb::arg("search"),
        "Return the next candidates of an evolution.");
  m.def("annealed", candidates_by<tune::annealed>, nb::arg("search"),
        "Return the next candidates of walks.");
  m.def("at_random", candidates_by<tune::at_random>, nb::arg("search"),
        "Return candidates that were drawn of the whole space.");
}

}  // namespace

tune::Search::NextCandidates next_candidates_of(nb::object search) {
  return [search = held(std::move(search))](tune::Search&) {
    return in_python([&] {
      const nb::object given = search->attr("next_candidates")();
      Candidates candidates;
      require(nb::try_cast(given, candidates), ErrorKind::type_mismatch, "batch_is_of_candidates",
              hint("return what `chosen` returns, or candidates of `bred`"), {},
              "tune: next_candidates returned {}, expected a list of candidates",
              nb::type_name(given.type()).c_str());
      return candidates;
    });
  };
}

void bind_tune_search(nb::module_& m) {
  bind_tune_spaces(m);
  bind_candidates(m);
  bind_logged_trials(m);
  bind_search(m);
}

}  // namespace loopsmith::python
