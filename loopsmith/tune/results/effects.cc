// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "loopsmith/schedule/python_text.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/results/seconds_text.h"

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

std::string Effect::text() const {
  const auto &best = decisions.front(), &worst = decisions.back();
  return fmt::format("{:.3g} times: {}: {} {}, {} {}", ratio, line, best.first,
                     seconds_text(best.second), worst.first, seconds_text(worst.second));
}

std::vector<Effect> effects_of(const Trace& trace, const std::vector<Tried>& tried) {
  std::map<std::size_t, std::map<std::string, std::vector<double>>> times;
  for (const Tried& each : tried) {
    if (!each.failure.empty() || !has_same_steps(each.trace, trace)) continue;
    for (std::size_t i = 0; i < trace.steps().size(); ++i) {
      const auto decision = each.trace.decision(i);
      if (!decision) continue;
      times[i][python_text(*decision, [](const Argument&) { return "?"; })].push_back(each.seconds);
    }
  }
  const std::vector<std::string> lines = trace.as_python();
  std::vector<Effect> effects;
  for (auto& [step, decisions] : times) {
    if (decisions.size() < 2) continue;
    Effect effect{.line = lines[step]};
    for (auto& [decision, taken] : decisions)
      effect.decisions.emplace_back(decision, median(taken));
    std::ranges::stable_sort(effect.decisions, {}, &std::pair<std::string, double>::second);
    effect.ratio = effect.decisions.back().second / effect.decisions.front().second;
    effects.push_back(std::move(effect));
  }
  std::ranges::stable_sort(effects, std::greater(), &Effect::ratio);
  return effects;
}

std::string effects_text(const std::vector<Effect>& effects) {
  std::string text;
  for (const Effect& effect : effects) text += effect.text() + "\n";
  return text.empty() ? "no choice was measured with two decisions\n" : text;
}

}  // namespace loopsmith::tune
