// SPDX-License-Identifier: Apache-2.0
// What is told of searches: which choices mattered, charts, pages.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "loopsmith/tune/results/charts.h"
#include "loopsmith/tune/results/page.h"
#include "loopsmith/tune/results/progress.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// How matplotlib names it.
const char* name_of(tune::Look look) {
  switch (look) {
    case tune::Look::points: return ".";
    case tune::Look::line: return "-";
    case tune::Look::line_with_points: return "o-";
    case tune::Look::steps: return "steps";
    case tune::Look::dashed: return "--";
  }
  return "";
}

void bind_effects(nb::module_& m) {
  nb::class_<tune::Effect>(m, "Effect", "What one choice was worth.")
      .def_ro("line", &tune::Effect::line, "The step that samples, as Python.")
      .def_ro("ratio", &tune::Effect::ratio,
              "The median time with the slowest decision over that with the quickest.")
      .def_prop_ro(
          "seconds",
          [](const tune::Effect& self) {
            nb::dict made;
            for (const auto& [decision, seconds] : self.decisions) {
              made[nb::cast(decision)] = seconds;
            }
            return made;
          },
          nb::for_getter(nb::sig("def seconds(self) -> dict[str, float]")),
          "The median time with each decision, the quickest first.")
      .def("__str__", &tune::Effect::text)
      .def(
          "__eq__",
          [](const tune::Effect& self, const tune::Effect& other) {
            return self.line == other.line && self.decisions == other.decisions;
          },
          nb::arg("other"), nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"));
  m.def("effects_of", &tune::effects_of, nb::arg("trace"), nb::arg("trials"),
        "Return which choices of a trace mattered, by the trials with its steps.");
}

void bind_charts(nb::module_& m) {
  nb::class_<tune::Series>(m, "Series", "Points of a chart that belong together.")
      .def_ro("name", &tune::Series::name)
      .def_prop_ro("look", [](const tune::Series& self) { return name_of(self.look); })
      .def_ro("x", &tune::Series::x)
      .def_ro("y", &tune::Series::y)
      .def_ro("labels", &tune::Series::labels);
  nb::class_<tune::Chart>(m, "Chart", "Some series over common axes.")
      .def_ro("x_label", &tune::Chart::x_label)
      .def_ro("y_label", &tune::Chart::y_label)
      .def_ro("is_x_log", &tune::Chart::is_x_log)
      .def_ro("is_y_log", &tune::Chart::is_y_log)
      .def_ro("series", &tune::Chart::series);
  m.def("times_chart", &tune::times_chart, nb::arg("trials"), nb::arg("default_seconds"),
        "Return the time of each candidate and the best so far, as the search went on.");
  m.def("decisions_chart", &tune::decisions_chart, nb::arg("effects"),
        "Return the median time with each decision of the choices that mattered most.");
  m.def(
      "roofline_chart",
      [](double flops, double bytes, double peak_flops, double bandwidth, double seconds,
         double default_seconds) {
        return tune::roofline_chart({flops, bytes, peak_flops, bandwidth}, seconds,
                                    default_seconds);
      },
      nb::arg("flops"), nb::arg("bytes"), nb::arg("peak_flops"), nb::arg("bandwidth"),
      nb::arg("seconds"), nb::arg("default_seconds"),
      "Return what a machine does at most by operations a byte, and what two schedules do.");
  m.def("sizes_charts", &tune::sizes_charts, nb::arg("rows"),
        "Return what a call takes by each of the sizes that vary.");
  m.def("svg_of", &tune::svg_of, nb::arg("title"), nb::arg("charts"),
        "Return charts side by side as an element of SVG.");
}

void bind_reports(nb::module_& m) {
  nb::class_<tune::Report>(m, "SearchReport", "What is told of the search for one function.")
      .def(
          "__init__",
          [](tune::Report* self, std::string name, std::string summary,
             std::vector<tune::Tried> trials, std::vector<tune::Chart> charts,
             std::vector<std::pair<std::string, std::vector<tune::Effect>>> effects,
             std::map<std::string, int> refused,
             std::vector<std::pair<std::string, std::string>> code) {
            new (self) tune::Report{std::move(name),   std::move(summary), std::move(trials),
                                    std::move(charts), std::move(effects), std::move(refused),
                                    std::move(code)};
          },
          nb::arg("name"), nb::arg("summary"), nb::arg("trials"), nb::arg("charts"),
          nb::arg("effects"), nb::arg("refused"), nb::arg("code"))
      .def_ro("name", &tune::Report::name)
      .def_ro("charts", &tune::Report::charts);
  m.def("page_of", &tune::page_of, nb::arg("title"), nb::arg("reports"),
        "Return a page of HTML with some reports, which needs nothing else.");
}

std::string progress_text(std::size_t done, std::size_t trials, double elapsed, double seconds_left,
                          const std::vector<std::tuple<std::string, double, double, double>>& each,
                          std::map<std::string, int> failures) {
  tune::SearchProgress progress{.done = done,
                                .trials = trials,
                                .elapsed = elapsed,
                                .seconds_left = seconds_left,
                                .failures = std::move(failures)};
  for (const auto& [name, best, by_default, limit] : each) {
    progress.functions.push_back({name, best, by_default, limit});
  }
  return progress.text();
}

}  // namespace

void bind_tune_report(nb::module_& m) {
  bind_effects(m);
  bind_charts(m);
  bind_reports(m);
  m.def("progress_text", progress_text, nb::arg("done"), nb::arg("trials"), nb::arg("elapsed"),
        nb::arg("seconds_left"), nb::arg("functions"), nb::arg("failures"),
        "Return a line: trials and their rate, of each function the best so far, the default\n"
        "schedule and the machine's limit, failures, and the time left.");
}

}  // namespace loopsmith::python
