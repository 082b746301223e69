// SPDX-License-Identifier: Apache-2.0
#include "bindings/timing.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/runtime/timing.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// `1.25 ms`
std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.4g} us", seconds * 1e6);
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

/// The sample that `share` of all samples are not slower than, between two of them in proportion.
double quantile(const Timing& timing, double share) {
  std::vector<double> sorted = timing.samples;
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Timing timing_of(std::vector<double> samples, double flops, double bytes) {
  require(!samples.empty(), ErrorKind::user, "timing_has_samples", hint("pass one or more"), {},
          "Timing: there are no samples");
  Timing timing{.samples = std::move(samples), .flops = flops, .bytes = bytes};
  timing.min = *std::min_element(timing.samples.begin(), timing.samples.end());
  timing.median = quantile(timing, 0.5);
  for (const double sample : timing.samples) timing.mean += sample;
  timing.mean /= static_cast<double>(timing.samples.size());
  return timing;
}

/// Billions a second of what a call does; None where it is not known.
nb::object rate(double amount, double seconds) {
  if (amount <= 0 || seconds <= 0) return nb::none();
  return nb::float_(amount / seconds * 1e-9);
}

std::string timing_text(const Timing& self) {
  std::string text = fmt::format("median {}, min {}, mean {}, p10 {}, p90 {} of {} samples",
                                 seconds_text(self.median), seconds_text(self.min),
                                 seconds_text(self.mean), seconds_text(quantile(self, 0.1)),
                                 seconds_text(quantile(self, 0.9)), self.samples.size());
  if (self.flops > 0) text += fmt::format(", {:.4g} GFLOP/s", self.flops / self.median * 1e-9);
  if (self.bytes > 0) text += fmt::format(", {:.4g} GB/s", self.bytes / self.median * 1e-9);
  return text;
}

}  // namespace

void bind_timing(nb::module_& m) {
  nb::class_<Timing>(m, "Timing", "How long a call took, in seconds.")
      .def(
          "__init__",
          [](Timing* self, std::vector<double> samples, double flops, double bytes) {
            new (self) Timing(timing_of(std::move(samples), flops, bytes));
          },
          nb::arg("samples"), nb::arg("flops") = 0.0, nb::arg("bytes") = 0.0)
      .def_ro("min", &Timing::min, "The shortest sample.")
      .def_ro("median", &Timing::median, "The sample in the middle.")
      .def_ro("mean", &Timing::mean, "The mean of the samples.")
      .def_prop_ro(
          "p10", [](const Timing& self) { return quantile(self, 0.1); },
          "A tenth of the samples are not slower.")
      .def_prop_ro(
          "p90", [](const Timing& self) { return quantile(self, 0.9); },
          "A tenth of the samples are slower.")
      .def_ro("samples", &Timing::samples, "All samples, in the order in which they were taken.")
      .def_ro("flops", &Timing::flops,
              "Floating-point operations of a call, as its program asks for; 0 where not known.")
      .def_ro("bytes", &Timing::bytes,
              "Bytes that a call reads and writes at least: its tensors; 0 where not known.")
      .def_prop_ro(
          "gflops", [](const Timing& self) { return rate(self.flops, self.median); },
          nb::for_getter(nb::sig("def gflops(self) -> float | None")),
          "GFLOP/s in the median sample.")
      .def_prop_ro(
          "gbps", [](const Timing& self) { return rate(self.bytes, self.median); },
          nb::for_getter(nb::sig("def gbps(self) -> float | None")), "GB/s in the median sample.")
      .def(
          "plot",
          [](nb::handle self, nb::handle axes) {
            return nb::module_::import_("loopsmith.timing").attr("plot")(self, axes);
          },
          nb::arg("axes") = nb::none(),
          nb::sig("def plot(self, axes: typing.Any = None) -> typing.Any"),
          "Draw the samples with matplotlib, into its axes if given.")
      .def(
          "_repr_html_",
          [](nb::handle self) {
            return nb::module_::import_("loopsmith.timing").attr("html")(self);
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "__reduce__",
          [](const Timing& self) {
            return nb::make_tuple(nb::type<Timing>(),
                                  nb::make_tuple(self.samples, self.flops, self.bytes));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__str__", timing_text)
      .def("__repr__", [](const Timing& self) {
        return fmt::format("<loopsmith.Timing {}>", timing_text(self));
      });
}

}  // namespace loopsmith::python
