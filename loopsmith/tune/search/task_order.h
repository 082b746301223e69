// SPDX-License-Identifier: Apache-2.0
// Which function of a module gets the next trial.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace loopsmith::tune {

/// The times of a task's trials, in their order; infinity for those that failed.
class TrialTimes {
 public:
  void add(double seconds);
  std::size_t count() const { return best_.size(); }
  /// How many of the last ones were not 1 % quicker than the best before them.
  int in_vain() const { return in_vain_; }
  /// The best of all but the last ones; infinity where there is none.
  double best_before(std::size_t last) const;

 private:
  std::vector<double> best_;  ///< Of the first trials, by their number.
  double beaten_ = std::numeric_limits<double>::infinity();
  int in_vain_ = 0;
};

/// How far the search for one function is.
struct TaskState {
  const TrialTimes& times;
  double weight = 1;           ///< How often it is called, beside others.
  double default_seconds = 0;  ///< What it takes with the default schedule,
  double result_seconds = 0;   ///< and with the best so far, which may be that one.
  double expected_gain = std::numeric_limits<double>::infinity();
  bool is_exhausted = false;  ///< Nothing new is found any more.
};

/// The task whose next trial promises to save most time; none when all have ended.
///
/// A task has ended when nothing new is found, when `patience` candidates in a row brought nothing,
/// or when the best candidate left is expected to save less than the share `regret` of its time.
///
/// The promise is the mean of what the last trials gained each, and of what an equal share of its
/// time would be, weighted by how often the function is called: the gradient scheduler of Zheng et
/// al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning" (OSDI 2020).
std::optional<std::size_t> next_task(const std::vector<TaskState>& tasks, int patience,
                                     double regret);

}  // namespace loopsmith::tune
