// SPDX-License-Identifier: Apache-2.0
// The first part of every task: candidates are proposed, measured with each of some sizes, and
// kept.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loopsmith/tune/measure/measurer.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/results/tried.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/search/task_order.h"
#include "loopsmith/tune/sizes/size_choice.h"

namespace loopsmith::tune {

/// Whether there is time for another candidate.
using HasTime = std::function<bool()>;

/// The search for one of the sizes that arguments have.
struct SizedSearch {
  std::shared_ptr<Search> search;
  Search::NextCandidates next;  ///< What makes the search's batches.
  DrawnSizes point = {};        ///< No sizes: arguments are always the same.
};

/// Keeps the trials of a candidate for searches to come, of each search or of the first ones.
using KeepTrials = std::function<void(const std::vector<LoggedTrial>&)>;

/// What a task is made of.
struct TaskParts {
  Measurer measurer;
  std::vector<SizedSearch> searches;                   ///< In the order of the measurer's points.
  std::vector<std::vector<LoggedTrial>> earlier = {};  ///< Of each search, those it goes on with.
  KeepTrials keep = {};
  std::function<void(const Tried&)> on_trial = {};  ///< Told of each candidate.
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// Searches for schedules of one function, a search for each of some sizes, which learn of each
/// other's candidates. Each candidate is a schedule for all sizes, is compiled once, and is
/// measured with each of them, up to the first with which it fails.
class Exploration {
 public:
  /// Measures what is to be beaten, and goes on with earlier trials. Throws a UserError where that
  /// fails with a size that was drawn. The quickest on average are retained, at most so many.
  Exploration(Ptr<PrimFunc> func, TaskParts parts, std::size_t max_found);

  /// Measures a batch of candidates of the next size's search, at most so many; returns how many
  /// that were. One at least is measured in all, however little time there is. Nothing is lost
  /// where it throws.
  std::size_t step(std::size_t limit, const HasTime& has_time = {});
  TaskState state(double weight) const;

  const TrialTimes& times() const { return times_; }
  /// Whether no search finds anything new.
  bool is_exhausted() const;
  /// What measuring that which is to be beaten gave, with the first size.
  const Outcome& reference() const { return reference_; }
  /// Its mean time over the sizes, by their weights; infinity where it failed.
  double default_seconds() const { return mean(default_times_); }
  /// The mean of the least times of candidates; infinity before there is one.
  double best_seconds() const { return mean(best_times_); }
  /// The same, of what is to be beaten where that is quicker.
  double result_seconds() const { return mean(least_times()); }
  /// How many draws were no legal schedule, by what was said.
  std::map<std::string, int> refused() const;
  /// Why trials are kept no more; empty while they are.
  const std::string& keep_failure() const { return keep_failure_; }

 protected:
  const Ptr<PrimFunc>& func() const { return func_; }
  const Measurer& measurer() const { return parts_.measurer; }
  const std::vector<SizedSearch>& searches() const { return parts_.searches; }
  const SizeTimes& default_times() const { return default_times_; }
  /// The least times so far, those of what is to be beaten among them.
  SizeTimes least_times() const { return quicker(best_times_, default_times_); }
  /// What was measured, the quickest on average first.
  const std::vector<Timed>& found() const { return found_; }
  /// Throws a UserError, with what was said of the first that failed, unless a candidate worked.
  void require_found() const;

 private:
  double mean(const SizeTimes& times) const;
  /// The next candidates of a search, at least as many as are measured at once, where it has them.
  std::vector<Candidate> proposed(const SizedSearch& from, std::size_t limit);
  void measure(const std::vector<Candidate>& group);
  void take(const Candidate& candidate, const SizeTimes& times, Outcome last);
  void keep(const Candidate& candidate, const SizeTimes& times, bool is_measured);
  void rank(Timed each);

  Ptr<PrimFunc> func_;
  TaskParts parts_;
  std::size_t max_found_;
  Outcome reference_;
  SizeTimes default_times_, best_times_;
  TrialTimes times_;
  std::size_t next_ = 0;
  std::vector<bool> are_exhausted_;
  std::vector<Timed> found_;
  std::string first_failure_;  ///< Of the first candidate that failed.
  std::string keep_failure_;
};

}  // namespace loopsmith::tune
