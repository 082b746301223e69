// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/model/boosted_trees.h"
#include "loopsmith/tune/model/cost_model.h"
#include "loopsmith/tune/model/features.h"
#include "loopsmith/tune/model/rank_correlation.h"
#include "loopsmith/tune/records/records.h"
#include "loopsmith/tune/search/program_key.h"
#include "loopsmith/tune/spaces/decisions.h"
#include "loopsmith/tune/spaces/numerics.h"

#include <random>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/schedule.h"
#include "bindings/tune.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

nb::object mutated(const Trace& trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto decisions = tune::mutated(trace, random);
  return decisions ? nb::object(from_decisions(*decisions)) : nb::none();
}

/// What records are found by, as Python's options have it.
std::string target_key(const Target& target, const std::string& numerics, bool contract,
                       std::vector<std::string> fast_math, int num_threads) {
  const BuildOptions options{.contract = contract, .fast_math = std::move(fast_math)};
  return tune::target_key(target, options, numerics_of(numerics), num_threads);
}

void bind_records(nb::module_& m) {
  m.attr("record_format") = tune::record_format;
  m.def(
      "record_tables",
      [] {
        nb::list tables;
        for (const char* statement : tune::record_tables) tables.append(statement);
        return tables;
      },
      nb::sig("def record_tables() -> list[str]"),
      "Return the statements of SQL that make the tables of a file of records.");
  m.def("program_key", &tune::key_of, nb::arg("func"),
        nb::sig("def program_key(func: PrimFunc) -> str"),
        "Return what a program is found by: the structural hash of a function without its name.");
  m.def("named_main", &tune::named_main, nb::arg("func"),
        nb::sig("def named_main(func: PrimFunc) -> PrimFunc"),
        "Return a function without a name of its own: how it is called matters to no schedule.");
  m.def("version_warning", &tune::version_warning, nb::arg("name"), nb::arg("version"),
        nb::sig("def version_warning(name: str, version: str) -> str"),
        "Return what to know where a record is used that another version of the compiler made.");
  m.def("machine_name", &tune::machine_name, nb::sig("def machine_name() -> str"),
        "Return which processor this is, and how many of them.");
  m.def("target_key", &target_key, nb::arg("target"), nb::arg("numerics"), nb::arg("contract"),
        nb::arg("fast_math"), nb::arg("num_threads"),
        nb::sig("def target_key(target: Target, numerics: str, contract: bool, "
                "fast_math: list[str], num_threads: int) -> str"),
        "Return what records are of: a target, the machine if that is meant, and options that are "
        "not\nas they are where nothing is said.");
}

}  // namespace

CostModel::CostModel(const Target& target) : machine_(cpu_model_of(target)) {
  options_.vector_bits = machine_.vector_bytes * 8;
}

double CostModel::seconds(const Ptr<PrimFunc>& func) const {
  const Unlocked unlocked;
  return tune::estimate(func, machine_, options_);
}

std::vector<double> CostModel::features(const Ptr<PrimFunc>& func) const {
  const Unlocked unlocked;
  return tune::features_of(func, machine_, options_);
}

nb::list CostModel::statements(const Ptr<PrimFunc>& func) const {
  nb::list found;
  for (const tune::Cost& cost : tune::costs_of(func, machine_, options_)) {
    nb::dict row;
    row["compute"] = cost.compute;
    row["first_cache"] = cost.first_cache;
    row["core_cache"] = cost.core_cache;
    row["last_cache"] = cost.last_cache;
    row["launches"] = cost.launches;
    row["threads"] = cost.threads;
    row["cycles"] = cost.cycles();
    found.append(row);
  }
  return found;
}

tune::Numerics numerics_of(const std::string& name) {
  return name == "free"     ? tune::Numerics::free
         : name == "strict" ? tune::Numerics::strict
                            : tune::Numerics::reproducible;
}

void bind_tune(nb::module_& m) {
  bind_records(m);
  nb::class_<CostModel>(m, "CostModel",
                        "A model of a processor: what scheduled functions cost, without compiling "
                        "them.\nThreads may ask it at once.")
      .def(nb::init<const Target&>(), nb::arg("target"),
           nb::sig("def __init__(self, target: Target) -> None"))
      .def("seconds", &CostModel::seconds, nb::arg("func"),
           nb::sig("def seconds(self, func: PrimFunc) -> float"),
           "Return how long a call of a scheduled function will take, about.")
      .def("statements", &CostModel::statements, nb::arg("func"),
           nb::sig("def statements(self, func: PrimFunc) -> list[dict[str, float]]"),
           "Return what each statement of a scheduled function costs: cycles on one core, by what\n"
           "takes them, and among how many threads they are divided.")
      .def("features", &CostModel::features, nb::arg("func"),
           nb::sig("def features(self, func: PrimFunc) -> list[float]"),
           "Return numbers of a scheduled function for models that learn: the logarithm of what "
           "it is\nestimated to take, and what its most expensive statements are like.");
  m.attr("features_version") = tune::features_version;
  nb::class_<tune::BoostedTrees>(m, "BoostedTrees",
                                 "A sum of regression trees, fitted to labels of rows.")
      .def(nb::init<const std::vector<std::vector<double>>&, const std::vector<double>&>(),
           nb::arg("rows"), nb::arg("labels"),
           nb::sig("def __init__(self, rows: list[list[float]], labels: list[float]) -> None"))
      .def("predict", &tune::BoostedTrees::predict, nb::arg("row"),
           nb::sig("def predict(self, row: list[float]) -> float"),
           "Return what a row's label is, about.");
  m.def("rank_correlation", &tune::rank_correlation, nb::arg("first"), nb::arg("second"),
        nb::sig("def rank_correlation(first: typing.Sequence[float], second: "
                "typing.Sequence[float]) -> float"),
        "Return Spearman's correlation of two lists: 1 where both have the same order.");
  bind_tune_search(m);
  m.def("mutated_decisions", &mutated, nb::arg("trace"), nb::arg("seed"),
        nb::sig("def mutated_decisions(trace: Trace, seed: int) -> "
                "list[tuple[str, typing.Any]] | None"),
        "Return the decisions of a trace with one of them changed; None where it has no other.");
  m.def(
      "reference_of",
      [](const Ptr<PrimFunc>& func, const Target& target, const std::string& numerics) {
        return tune::reference_of(func, target, {}, numerics_of(numerics));
      },
      nb::arg("func"), nb::arg("target"), nb::arg("numerics"),
      nb::sig("def reference_of(func: PrimFunc, target: Target, numerics: str) -> PrimFunc"),
      "Return a program as it is carried out where nothing better is known, before it is lowered: "
      "by\nthe default schedule, under a lock as it is written, or in one order.");
}

}  // namespace loopsmith::python
