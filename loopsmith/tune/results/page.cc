// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/tune/results/seconds_text.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t max_decisions = 8;  ///< Of a choice.
const char* const style =
    "body{font-family:sans-serif;max-width:90em;margin:auto}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.2em .8em;border-bottom:1px solid #ccc}pre{overflow:auto}";

/// How many candidates there were, how long they took, and when the best one came.
std::string pace(const std::vector<Tried>& tried) {
  if (tried.empty()) return "<p>No candidate was measured.</p>";
  const double elapsed = tried.back().elapsed;
  const Tried& best = *std::ranges::min_element(tried, {}, &Tried::seconds);
  return fmt::format("<p>{} candidates in {}, {:.3g} a second; the quickest after {}.</p>",
                     tried.size(), seconds_text(elapsed),
                     static_cast<double>(tried.size()) / std::max(elapsed, 1e-9),
                     seconds_text(best.elapsed));
}

std::string effects_html(const std::vector<Effect>& effects) {
  if (effects.empty()) return "<p>No choice was measured with two decisions.</p>";
  std::string rows;
  for (const Effect& effect : effects) {
    std::string shown;
    for (std::size_t i = 0; i < std::min(effect.decisions.size(), max_decisions); ++i) {
      const auto& [decision, seconds] = effect.decisions[i];
      shown += fmt::format("{}{}: {}", i == 0 ? "" : ", ", decision, seconds_text(seconds));
    }
    if (effect.decisions.size() > max_decisions) {
      shown += fmt::format(", and {} slower", effect.decisions.size() - max_decisions);
    }
    rows += fmt::format("<tr><td>{:.3g}</td><td><code>{}</code></td><td>{}</td></tr>", effect.ratio,
                        escaped(effect.line), escaped(shown));
  }
  return "<table><tr><th>times</th><th>choice</th><th>decisions</th></tr>" + rows + "</table>";
}

/// A row of what failed: what, how often, and what was said once.
struct Failure {
  std::string what;
  int count = 0;
  std::string example = {};
};

std::string failures_html(const Report& report) {
  std::vector<Failure> failures, refused;
  for (const Tried& each : report.tried) {
    if (each.failure.empty()) continue;
    auto found = std::ranges::find(failures, each.failure, &Failure::what);
    if (found == failures.end()) {
      found = failures.insert(found, {.what = each.failure, .example = each.detail});
    }
    ++found->count;
  }
  for (const auto& [said, count] : report.refused) refused.push_back({"refused: " + said, count});
  std::string rows;
  for (auto* some : {&failures, &refused}) {
    std::ranges::stable_sort(*some, std::greater(), &Failure::count);
    for (const Failure& each : *some) {
      rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", escaped(each.what),
                          each.count, escaped(each.example));
    }
  }
  if (rows.empty()) return "<p>Nothing.</p>";
  return "<table><tr><th>what</th><th>how many</th><th>for example</th></tr>" + rows + "</table>";
}

std::string report_html(const Report& report) {
  std::string text =
      fmt::format("<h1>{}</h1><pre>{}</pre>{}{}", escaped(report.name), escaped(report.summary),
                  pace(report.tried), svg_of(report.name, report.charts));
  for (const auto& [heading, effects] : report.effects) {
    text += fmt::format("<h2>{}</h2>{}", escaped(heading), effects_html(effects));
  }
  text += "<h2>What failed</h2>" + failures_html(report);
  for (const auto& [heading, code] : report.code) {
    text += fmt::format("<h2>{}</h2>{}", escaped(heading), code);
  }
  return text;
}

}  // namespace

std::string page_of(const std::string& title, const std::vector<Report>& reports) {
  std::string body;
  for (const Report& report : reports) body += report_html(report);
  return fmt::format(
      "<!doctype html><html><head><meta charset='utf-8'><title>{}</title><style>{}</style></head>"
      "<body>{}</body></html>",
      escaped(title), style, body);
}

std::string code_html(const std::string& text) {
  return "<pre>" + escaped(text) + "</pre>";
}

}  // namespace loopsmith::tune
