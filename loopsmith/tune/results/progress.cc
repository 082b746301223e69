// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/progress.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "loopsmith/tune/results/seconds_text.h"

namespace loopsmith::tune {
namespace {

constexpr std::chrono::seconds between_lines{10};

std::string progress_of(const FunctionProgress& function) {
  const double best = function.best_seconds, by_default = function.default_seconds;
  const double share = function.limit_seconds / std::min(best, by_default);
  return fmt::format(
      "{}: best {}, default {}{}", function.name,
      std::isfinite(best) ? seconds_text(best) : "nothing yet", seconds_text(by_default),
      share > 0 ? fmt::format(" ({:.0f}% of the machine's limit)", 100 * share) : "");
}

}  // namespace

std::string SearchProgress::text() const {
  const double rate = static_cast<double>(done) / std::max(elapsed, 1e-9);
  const auto still = static_cast<double>(trials - std::min(done, trials));
  const double left = std::min(still / std::max(rate, 1e-9), std::max(seconds_left, 0.0));
  std::vector<std::string> parts = {fmt::format("{} of {} trials, {:.1f}/s", done, trials, rate)};
  for (const FunctionProgress& function : functions) parts.push_back(progress_of(function));
  std::vector<std::pair<int, std::string>> counts;
  for (const auto& [what, count] : failures) counts.emplace_back(count, what);
  std::ranges::stable_sort(counts, std::greater(), &std::pair<int, std::string>::first);
  for (const auto& [count, what] : counts) parts.push_back(fmt::format("{} {}", count, what));
  return fmt::format("{}; {:.0f} s left", fmt::join(parts, "; "), left);
}

void ProgressLines::update(const SearchProgress& progress) {
  std::vector<double> best;
  for (const FunctionProgress& function : progress.functions) best.push_back(function.best_seconds);
  const auto now = std::chrono::steady_clock::now();
  if (best == best_ && now - written_ < between_lines) return;
  best_ = std::move(best);
  written_ = now;
  std::fputs((progress.text() + "\n").c_str(), stderr);
}

}  // namespace loopsmith::tune
