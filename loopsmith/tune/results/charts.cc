// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace loopsmith::tune {
namespace {

constexpr std::size_t max_choices = 4;  ///< Of a chart.
constexpr std::size_t max_labels = 6;   ///< Of a choice.
constexpr std::size_t max_name = 40;    ///< Letters.
constexpr double micro = 1e6;

const char* const time_label = "time of a call [us]";

}  // namespace

Chart times_chart(const std::vector<Tried>& tried, double default_seconds) {
  Series all{.name = "candidates", .look = Look::points};
  Series best{.name = "best so far", .look = Look::steps};
  for (const Tried& each : tried) {
    if (!std::isfinite(each.seconds)) continue;
    const double taken = each.seconds * micro;
    all.x.push_back(each.elapsed);
    all.y.push_back(taken);
    best.x.push_back(each.elapsed);
    best.y.push_back(best.y.empty() ? taken : std::min(taken, best.y.back()));
  }
  Chart chart{.x_label = "time since the search began [s]", .y_label = time_label};
  if (!all.x.empty() && std::isfinite(default_seconds)) {
    const double by_default = default_seconds * micro;
    chart.series.push_back({.name = "default schedule",
                            .look = Look::dashed,
                            .x = {all.x.front(), all.x.back()},
                            .y = {by_default, by_default}});
  }
  chart.series.insert(chart.series.begin(), {std::move(all), std::move(best)});
  return chart;
}

Chart decisions_chart(const std::vector<Effect>& effects) {
  Chart chart{.x_label = "decisions of what mattered most, by their rank",
              .y_label = "median time of a call [us]"};
  for (std::size_t i = 0; i < std::min(effects.size(), max_choices); ++i) {
    const std::string& line = effects[i].line;
    const std::size_t equals = line.find(" = ");
    Series series{
        .name = (equals == std::string::npos ? line : line.substr(equals + 3)).substr(0, max_name),
        .look = Look::line_with_points};
    for (const auto& [decision, seconds] : effects[i].decisions) {
      series.x.push_back(static_cast<double>(series.x.size()) + 1);
      series.y.push_back(seconds * micro);
      if (series.labels.size() < max_labels) series.labels.push_back(decision);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart roofline_chart(const MachineLimit& limit, double seconds, double default_seconds) {
  constexpr double giga = 1e-9;
  const double flops = std::max(limit.flops, 1.0), intensity = flops / limit.bytes;
  const double ridge = limit.peak_flops / limit.bandwidth;
  Series roof{.name = "this machine, as measured", .look = Look::line};
  for (const double x : {std::min(intensity, ridge) / 8, ridge, std::max(intensity, ridge) * 8}) {
    roof.x.push_back(x);
    roof.y.push_back(std::min(limit.peak_flops, x * limit.bandwidth) * giga);
  }
  const auto point = [&](const char* name, double taken) {
    return Series{.name = name, .x = {intensity}, .y = {flops / taken * giga}};
  };
  return {.x_label = "operations for each byte of the tensors",
          .y_label = "GFLOP/s",
          .is_x_log = true,
          .series = {roof, point("best", seconds), point("default schedule", default_seconds)}};
}

std::vector<Chart> sizes_charts(const std::vector<SizedRow>& rows) {
  std::vector<Chart> charts;
  if (rows.empty()) return charts;
  for (const auto& [name, first] : rows.front().sizes) {
    std::vector<SizedRow> sorted = rows;
    const auto size = [&name](const SizedRow& row) { return row.sizes.at(name); };
    std::ranges::stable_sort(sorted, {}, size);
    if (size(sorted.front()) == size(sorted.back())) continue;
    const auto series = [&](const char* text, Look look, double SizedRow::* seconds) {
      Series made{.name = text, .look = look};
      for (const SizedRow& row : sorted) {
        if (!std::isfinite(row.*seconds)) continue;
        made.x.push_back(static_cast<double>(size(row)));
        made.y.push_back(row.*seconds * micro);
      }
      return made;
    };
    charts.push_back(
        {.x_label = name,
         .y_label = time_label,
         .is_x_log = true,
         .series = {series("default schedule", Look::dashed, &SizedRow::default_seconds),
                    series("this function", Look::line_with_points, &SizedRow::seconds),
                    series("quickest of each size", Look::points, &SizedRow::best_seconds)}});
  }
  return charts;
}

}  // namespace loopsmith::tune
