// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/python_text.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/results/best.h"

namespace loopsmith::tune {
namespace {

bool has_same_steps(const Trace& first, const Trace& second) {
  const auto &own = first.steps(), &other = second.steps();
  bool are_same = own.size() == other.size();
  for (std::size_t i = 0; are_same && i < own.size(); ++i) {
    are_same = own[i].primitive == other[i].primitive;
  }
  return are_same;
}

}  // namespace

std::string Best::explain() const {
  const Trace& own = schedule.engine().trace();
  const std::vector<std::string> lines = own.as_python();
  std::map<std::size_t, std::map<std::string, std::vector<double>>> times;
  for (const Trial& trial : trials) {
    if (!trial.failure.empty()) continue;
    const Trace trace = Trace::from_json(trial.trace, all_primitives());
    if (!has_same_steps(trace, own)) continue;
    for (std::size_t i = 0; i < trace.steps().size(); ++i) {
      const auto decision = trace.decision(i);
      if (!decision) continue;
      times[i][python_text(*decision, [](const Argument&) { return "?"; })].push_back(
          trial.seconds);
    }
  }
  std::vector<std::pair<double, std::string>> effects;
  for (auto& [step, decisions] : times) {
    if (decisions.size() < 2) continue;
    std::vector<std::pair<double, std::string>> medians;
    for (auto& [decision, taken] : decisions) medians.emplace_back(median(taken), decision);
    const auto [best, worst] = std::ranges::minmax(medians);
    effects.emplace_back(
        worst.first / best.first,
        fmt::format("{:.3g} times: {}: {} {:.4g} s, {} {:.4g} s", worst.first / best.first,
                    lines[step], best.second, best.first, worst.second, worst.first));
  }
  std::ranges::stable_sort(effects, std::greater(), &std::pair<double, std::string>::first);
  std::string text;
  for (const auto& effect : effects) text += effect.second + "\n";
  return text.empty() ? "no choice was measured with two decisions\n" : text;
}

}  // namespace loopsmith::tune
