// SPDX-License-Identifier: Apache-2.0
// The search for a schedule of one function, step by step.
#pragma once
#include "loopsmith/tune/measure/candidate_runner.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/search/task_order.h"

namespace loopsmith::tune {

/// The search in a space, for arguments of some sizes.
Search search_in(const Space& space, const Ptr<PrimFunc>& func, const Sizes& sizes,
                 std::uint64_t seed, const SearchOptions& options);

/// Whether there is time for another candidate.
using HasTime = std::function<bool()>;

/// One function, called with arguments of the same sizes.
class Task {
 public:
  /// The options outlive it. It goes on with the trials of a log, which gets its own. Throws a
  /// UserError as `search` does.
  Task(Ptr<PrimFunc> func, const Space& space, const SearchOptions& options,
       std::optional<TrialLog> log = {});

  /// Measures a batch of candidates, at most so many; returns how many that were.
  std::size_t step(std::size_t limit, const HasTime& has_time);
  TaskState state(double weight) const;
  /// The one of the quickest that is quickest beside the default schedule, measured in turns.
  /// Throws a UserError where there is none, or the program as it is written gives other results.
  Best best();

 private:
  struct Tried {
    Compiled compiled;
    double seconds = std::numeric_limits<double>::infinity();
  };

  double quickest_seconds() const;
  /// Keeps a trial; where that fails, says why once, and the search goes on without.
  void log(const LoggedTrial& trial);
  /// Takes a candidate among the quickest if it is one of them.
  void keep(Tried tried);

  Ptr<PrimFunc> func_;
  const SearchOptions& options_;
  CandidateRunner runner_;
  Search search_;
  double default_seconds_;
  std::vector<Trial> trials_;
  TrialTimes times_;
  bool is_exhausted_ = false;
  std::vector<Tried> quickest_;
  std::optional<TrialLog> log_;
  std::string log_failure_;
};

}  // namespace loopsmith::tune
