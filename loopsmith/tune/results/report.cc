// SPDX-License-Identifier: Apache-2.0
// What is told of a search of C++.
#include <fmt/ranges.h>

#include <map>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/results/charts.h"
#include "loopsmith/tune/results/page.h"
#include "loopsmith/tune/results/seconds_text.h"

namespace loopsmith::tune {
namespace {

std::vector<Tried> tried_of(const std::vector<Trial>& trials) {
  std::vector<Tried> made;
  for (const Trial& trial : trials) {
    made.push_back({.trace = Trace::from_json(trial.trace, all_primitives()),
                    .predicted = trial.predicted,
                    .seconds = trial.seconds,
                    .failure = trial.failure,
                    .detail = trial.detail,
                    .elapsed = trial.elapsed});
  }
  return made;
}

/// How many candidates there were, and what became of those that failed.
std::string counts_text(const std::vector<Trial>& trials) {
  std::map<std::string, int> failures;
  for (const Trial& trial : trials) {
    if (!trial.failure.empty()) ++failures[trial.failure];
  }
  std::string text = fmt::format("{} candidates", trials.size());
  for (const auto& [what, count] : failures) text += fmt::format(", {} with {}", count, what);
  return text;
}

Report report_of(const Best& best) {
  const Trace& trace = best.schedule.engine().trace();
  Report report{.name = best.schedule.func()->name(),
                .summary = best.text(),
                .tried = tried_of(best.trials),
                .refused = best.refused};
  const std::vector<Effect> effects = effects_of(trace, report.tried);
  report.charts = {times_chart(report.tried, best.default_seconds), decisions_chart(effects)};
  report.effects = {{"What mattered", effects}};
  report.code = {{"The schedule", code_html(fmt::format("{}", fmt::join(trace.as_python(), "\n")))},
                 {"The program", code_html(script(best.schedule.func()))}};
  return report;
}

Report report_of(const BestSizes& best) {
  Report report{.name = best.func->name(), .summary = best.text(), .tried = tried_of(best.trials)};
  double by_default = 0;
  for (const SizedRow& row : best.rows) by_default += row.weight * row.default_seconds;
  report.charts = {times_chart(report.tried, by_default)};
  for (Chart& chart : sizes_charts(best.rows)) report.charts.push_back(std::move(chart));
  for (std::size_t i = 0; i < best.schedules.size(); ++i) {
    report.effects.emplace_back(fmt::format("What mattered in variant {}", i + 1),
                                effects_of(best.schedules[i].engine().trace(), report.tried));
  }
  report.code = {{"The program", code_html(script(best.function()))}};
  return report;
}

}  // namespace

std::string Best::explain() const {
  return effects_text(effects_of(schedule.engine().trace(), tried_of(trials)));
}

std::string Best::text() const {
  const std::string& name = schedule.func()->name();
  return fmt::format("{}: {}, with the default schedule {}{}; {}", name, seconds_text(seconds),
                     seconds_text(default_seconds),
                     is_quicker() ? "" : ", which the machine's noise does not tell from it",
                     counts_text(trials));
}

std::string Best::html() const {
  const Report report = report_of(*this);
  return page_of(report.name, {report});
}

std::string Best::svg() const {
  const Report report = report_of(*this);
  return svg_of(report.name, report.charts);
}

std::string BestSizes::explain(std::size_t variant) const {
  require(variant >= 1 && variant <= schedules.size(), "variant_is_searched",
          hint("variant 0 is the default schedule, and was not searched"),
          "explain: variant {} is none of 1 to {}", variant, schedules.size());
  return effects_text(effects_of(schedules[variant - 1].engine().trace(), tried_of(trials)));
}

std::string BestSizes::text() const {
  std::string text =
      fmt::format("{}: {:.3g} times as quick as the default schedule, which is variant 0; {}\n{}\n",
                  func->name(), speedup(), counts_text(trials), tree.text());
  for (const SizedRow& row : rows) {
    text += fmt::format("{}: {} by variant {}, default {}, best {}\n", sizes_text(row.sizes),
                        seconds_text(row.seconds), row.variant, seconds_text(row.default_seconds),
                        seconds_text(row.best_seconds));
  }
  return text;
}

std::string BestSizes::html() const {
  return page_of(func->name(), {report_of(*this)});
}

std::string BestSizes::svg() const {
  return svg_of(func->name(), report_of(*this).charts);
}

std::string BestModule::html() const {
  std::vector<Report> reports;
  std::vector<std::string> names;
  for (const auto& [name, best] : functions) {
    reports.push_back(report_of(best));
    names.push_back(name);
  }
  return page_of(fmt::format("{}", fmt::join(names, ", ")), reports);
}

}  // namespace loopsmith::tune
