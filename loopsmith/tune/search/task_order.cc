// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/task_order.h"

#include <algorithm>
#include <cmath>

namespace loopsmith::tune {
namespace {

/// So many trials each task has before they compete; and over so many its gain is measured.
constexpr std::size_t window = 16;
constexpr double gain = 0.99;  ///< What is not below this share of the best brought nothing.

double promise_of(const TaskState& task) {
  const double before = std::min(task.default_seconds, task.times.best_before(window));
  const double now = task.result_seconds;
  const double gained =
      std::isfinite(before) ? (before - std::min(now, before)) / static_cast<double>(window) : 0;
  return task.weight * 0.5 * (gained + now / static_cast<double>(task.times.count()));
}

}  // namespace

void TrialTimes::add(double seconds) {
  best_.push_back(best_.empty() ? seconds : std::min(best_.back(), seconds));
  if (seconds < gain * beaten_) {
    beaten_ = seconds;
    in_vain_ = 0;
  } else {
    ++in_vain_;
  }
}

double TrialTimes::best_before(std::size_t last) const {
  return best_.size() > last ? best_[best_.size() - 1 - last]
                             : std::numeric_limits<double>::infinity();
}

std::optional<std::size_t> next_task(const std::vector<TaskState>& tasks, int patience,
                                     double regret) {
  std::optional<std::size_t> fewest, best;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskState& task = tasks[i];
    if (task.is_exhausted || task.times.in_vain() >= patience || task.expected_gain < regret) {
      continue;
    }
    if (!fewest || task.times.count() < tasks[*fewest].times.count()) fewest = i;
    if (!best || promise_of(task) > promise_of(tasks[*best])) best = i;
  }
  return fewest && tasks[*fewest].times.count() < window ? fewest : best;
}

}  // namespace loopsmith::tune
