// SPDX-License-Identifier: Apache-2.0
// The search for a schedule of one function, step by step: what C++ and Python search by.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/tune/measure/measurer.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/results/tried.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/search/task_order.h"

namespace loopsmith::tune {

/// Whether there is time for another candidate.
using HasTime = std::function<bool()>;

/// What a task is made of.
struct TaskParts {
  Measurer measurer;
  Search::NextCandidates next;                        ///< What makes the search's batches.
  std::function<void(const Tried&)> on_trial = {};    ///< Told of each candidate.
  std::vector<LoggedTrial> earlier = {};              ///< Of searches that this one goes on with.
  std::function<void(const LoggedTrial&)> keep = {};  ///< Keeps a trial for searches to come.
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// What a task has found.
struct Found {
  Candidate candidate;
  Schedule schedule;           ///< What the candidate's trace gives.
  Outcome duel;                ///< The candidate beside what is to be beaten.
  bool is_checked = false;     ///< Compared with the program as it is written.
  double seconds = 0;          ///< Of a call of the candidate,
  double default_seconds = 0;  ///< and of what is to be beaten, beside it.
};

/// Throws the UserError that no candidate worked, and what was said of the first, unless one did.
void require_candidate(bool has_one, const std::string& func, std::size_t trials,
                       const std::string& said);

/// One function, called with arguments of the same sizes.
class Task {
 public:
  Task(Ptr<PrimFunc> func, std::shared_ptr<Search> search, TaskParts parts);

  /// Measures a batch of candidates, at most so many; returns how many that were. One at least is
  /// measured in all, however little time there is. Nothing is lost where it throws.
  std::size_t step(std::size_t limit, const HasTime& has_time = {});
  TaskState state(double weight) const;

  const TrialTimes& times() const { return times_; }
  const Search& search() const { return *search_; }
  bool is_exhausted() const { return is_exhausted_; }
  /// What measuring that which is to be beaten gave, and its time; infinity where it failed.
  const Outcome& reference() const { return reference_; }
  double default_seconds() const { return default_seconds_; }
  /// The time of the quickest candidate; infinity before there is one.
  double best_seconds() const;
  /// The time of the quickest candidate, or of what is to be beaten where that is quicker.
  double result_seconds() const { return std::min(best_seconds(), default_seconds_); }
  /// Why trials are kept no more; empty while they are.
  const std::string& keep_failure() const { return keep_failure_; }

  /// The quickest of so many candidates, each measured beside what is to be beaten, in turns; where
  /// none is as quick, of the candidates with which the space starts, too. The first of them is
  /// taken whose results are those of the program as it is written. With 0, the quickest so far is
  /// returned as it is. Throws a UserError where there is no candidate, or the results of all are
  /// others.
  Found best(std::size_t finalists = max_finalists);

  static constexpr std::size_t max_finalists = 3;

 private:
  using Dueled = std::pair<Outcome, const Candidate*>;

  void take(const Candidate& candidate, Outcome outcome);
  void keep(const Candidate& candidate, double seconds, bool is_measured);
  /// Takes a candidate among the quickest if it is one of them.
  void rank(Candidate candidate, double seconds);
  std::vector<Dueled> dueled(std::size_t finalists) const;
  /// Measures a candidate beside what is to be beaten; appends it where that worked.
  void duel(const Candidate& candidate, std::vector<Dueled>& some) const;
  Found found(const Candidate& candidate, Outcome duel, bool is_checked) const;

  Ptr<PrimFunc> func_;
  std::shared_ptr<Search> search_;
  TaskParts parts_;
  Outcome reference_;
  double default_seconds_;
  TrialTimes times_;
  bool is_exhausted_ = false;
  std::vector<std::pair<double, Candidate>> quickest_;
  std::string first_failure_;  ///< Of the first candidate that failed.
  std::string keep_failure_;
};

}  // namespace loopsmith::tune
