// SPDX-License-Identifier: Apache-2.0
// Sizes that vary, the tree between variants, and limits of a search.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "loopsmith/tune/search/limits.h"
#include "loopsmith/tune/sizes/size_choice.h"
#include "loopsmith/tune/sizes/size_tree.h"
#include "loopsmith/tune/sizes/sizes.h"
#include "loopsmith/tune/sizes/variants.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

tune::SizeRange size_range(std::int64_t low, std::int64_t high, std::int64_t step,
                           const nb::object& weight) {
  if (weight.is_none()) return {low, high, step};
  return {low, high, step,
          [weight](std::int64_t value) { return nb::cast<double>(weight(value)); }};
}

tune::SizeSpec size_spec(nb::handle given) {
  if (nb::isinstance<nb::int_>(given)) return nb::cast<std::int64_t>(given);
  if (nb::isinstance<tune::SizeRange>(given)) return nb::cast<tune::SizeRange>(given);
  nb::dict mapping;
  mapping.update(given);
  tune::SizeWeights weights;
  for (const auto& [size, weight] : mapping) {
    weights.emplace(nb::cast<std::int64_t>(size), nb::cast<double>(weight));
  }
  return weights;
}

std::vector<tune::DrawnSizes> drawn_sizes(const Ptr<PrimFunc>& func, const nb::dict& specs,
                                          std::uint64_t seed) {
  std::map<std::string, tune::SizeSpec> given;
  for (const auto& [name, spec] : specs)
    given.emplace(nb::cast<std::string>(name), size_spec(spec));
  return tune::drawn_sizes(*func, given, seed);
}

nb::object part(const tune::SizeTree& tree, std::size_t which) {
  return tree.is_leaf() ? nb::none() : nb::cast(tree.parts[which]);
}

void bind_sizes(nb::module_& m) {
  nb::class_<tune::SizeRange>(
      m, "SizeRange",
      "The values of a symbolic size, both ends included: `low` plus multiples of `step`.\n\n"
      "`weight`, a function of a value, says how often it is met, beside others; without, every\n"
      "doubling as often as the one before. Raises BoundsError for a range without values, or "
      "with\nvalues below 1.")
      .def(
          "__init__",
          [](tune::SizeRange* self, std::int64_t low, std::int64_t high, std::int64_t step,
             const nb::object& weight) {
            new (self) tune::SizeRange(size_range(low, high, step, weight));
          },
          nb::arg("low"), nb::arg("high"), nb::arg("step") = 1, nb::arg("weight") = nb::none(),
          nb::sig("def __init__(self, low: int, high: int, step: int = 1, weight: "
                  "typing.Callable[[int], float] | None = None) -> None"))
      .def_prop_ro("low", &tune::SizeRange::low)
      .def_prop_ro("high", &tune::SizeRange::high)
      .def_prop_ro("step", &tune::SizeRange::step)
      .def("__repr__", [](const tune::SizeRange& self) {
        return "SizeRange(" + std::to_string(self.low()) + ", " + std::to_string(self.high()) +
               ", step=" + std::to_string(self.step()) + ")";
      });
  nb::class_<tune::DrawnSizes>(m, "DrawnSizes",
                               "Values of all symbolic sizes, and how often they are met.")
      .def_ro("sizes", &tune::DrawnSizes::sizes)
      .def_ro("weight", &tune::DrawnSizes::weight);
  m.def("drawn_sizes", &drawn_sizes, nb::arg("func"), nb::arg("specs"), nb::arg("seed"),
        nb::sig("def drawn_sizes(func: PrimFunc, specs: dict[str, typing.Any], seed: int) -> "
                "list[DrawnSizes]"),
        "Return some sizes of ranges, both ends among them; their weights add up to 1.");
  m.def(
      "require_size",
      [](const Ptr<PrimFunc>& func, const std::string& name) { tune::size_variable(*func, name); },
      nb::arg("func"), nb::arg("name"),
      nb::sig("def require_size(func: PrimFunc, name: str) -> None"),
      "Raise UserError unless a function has a symbolic size of that name.");
}

void bind_size_trees(nb::module_& m) {
  nb::class_<tune::SizeTree>(m, "SizeTree",
                             "Which variant of a function runs: one, in a leaf; else what `below` "
                             "says where the size\n`name` is below `threshold`, and `above` where "
                             "it is not.")
      .def_prop_ro("is_leaf", &tune::SizeTree::is_leaf)
      .def_ro("variant", &tune::SizeTree::variant)
      .def_ro("name", &tune::SizeTree::name)
      .def_ro("threshold", &tune::SizeTree::threshold)
      .def_prop_ro(
          "below", [](const tune::SizeTree& tree) { return part(tree, 0); },
          nb::sig("def below(self) -> SizeTree | None"))
      .def_prop_ro(
          "above", [](const tune::SizeTree& tree) { return part(tree, 1); },
          nb::sig("def above(self) -> SizeTree | None"))
      .def("decide", &tune::SizeTree::decide, nb::arg("sizes"),
           nb::sig("def decide(self, sizes: dict[str, int]) -> int"),
           "Return the variant for some sizes.")
      .def("as_json", &tune::SizeTree::as_json, "Return it as lists and numbers, in JSON.")
      .def_static("from_json", &tune::SizeTree::from_json, nb::arg("text"),
                  nb::sig("def from_json(text: str) -> SizeTree"),
                  "Return the tree that `as_json` wrote.")
      .def(
          "__eq__",
          [](const tune::SizeTree& tree, const tune::SizeTree& other) { return tree == other; },
          nb::arg("other"), nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__str__", &tune::SizeTree::text);
  m.def("with_size_tree", &tune::with_size_tree, nb::arg("variants"), nb::arg("tree"),
        nb::sig("def with_size_tree(variants: list[PrimFunc], tree: SizeTree) -> PrimFunc"),
        "Return one function of some schedules of a function: the tree decides which runs.");
}

void bind_size_choice(nb::module_& m) {
  nb::class_<tune::SizedRow>(
      m, "SizedRow",
      "What was measured with some sizes: `seconds` of a call of the variant that the tree takes,\n"
      "with the default schedule, which is variant 0, and of the quickest of all.")
      .def_ro("sizes", &tune::SizedRow::sizes)
      .def_ro("weight", &tune::SizedRow::weight)
      .def_ro("seconds", &tune::SizedRow::seconds)
      .def_ro("default_seconds", &tune::SizedRow::default_seconds)
      .def_ro("best_seconds", &tune::SizedRow::best_seconds)
      .def_ro("variant", &tune::SizedRow::variant);
  m.def("speedup_of", &tune::speedup_of, nb::arg("rows"),
        nb::sig("def speedup_of(rows: list[SizedRow]) -> float"),
        "Return how many times as quick as the default schedule: the weighted geometric mean.");
}

void bind_ends(nb::module_& m) {
  m.def(
      "require_limits",
      [](std::int64_t trials, double seconds, double trial_seconds, std::int64_t trial_bytes,
         std::int64_t patience, double regret, std::int64_t variants) {
        tune::require_limits({.trials = trials,
                              .seconds = seconds,
                              .trial_seconds = trial_seconds,
                              .trial_bytes = trial_bytes,
                              .patience = patience,
                              .regret = regret,
                              .variants = variants});
      },
      nb::arg("trials"), nb::arg("seconds"), nb::arg("trial_seconds"), nb::arg("trial_bytes"),
      nb::arg("patience"), nb::arg("regret"), nb::arg("variants"),
      "Raise UserError where what ends a search has no meaning.");
}

}  // namespace

void bind_tune_sizes(nb::module_& m) {
  bind_sizes(m);
  bind_size_trees(m);
  bind_size_choice(m);
  bind_ends(m);
}

}  // namespace loopsmith::python
