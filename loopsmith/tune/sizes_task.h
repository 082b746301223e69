// SPDX-License-Identifier: Apache-2.0
// The search for schedules of one function whose sizes vary, step by step.
#pragma once
#include "loopsmith/tune/function_task.h"
#include "loopsmith/tune/sizes/size_choice.h"

namespace loopsmith::tune {

/// One function, several sizes: a search for each size, which learn of each other's candidates.
///
/// Each candidate is a schedule for all sizes, is compiled once, and is measured with each of the
/// drawn sizes. What is chosen is a few schedules and a tree that decides between them.
class SizesTask {
 public:
  /// The options outlive it. Throws a UserError as `search` does.
  SizesTask(Ptr<PrimFunc> func, std::vector<DrawnSizes> points, const Space& space,
            const SearchOptions& options);

  /// Measures a batch of candidates of the next size's search; returns how many that were.
  std::size_t step(std::size_t limit, const HasTime& has_time);
  TaskState state(double weight) const;
  const std::vector<Trial>& trials() const { return trials_; }
  FunctionProgress progress() const;
  /// The variants, measured again beside the default schedule. Throws a UserError where nothing
  /// could be measured, or what was chosen is wrong.
  BestSizes best();

 private:
  struct Measured {
    Candidate candidate;
    SizeTimes seconds;
  };

  double mean(const SizeTimes& times) const;
  /// The times of a candidate with each size; none where it failed with one, and that outcome.
  std::pair<SizeTimes, Outcome> times_of(const Compiled& tried) const;
  /// The least times so far, those of the default schedule among them.
  SizeTimes least_times() const;

  Ptr<PrimFunc> func_;
  const SearchOptions& options_;
  std::vector<DrawnSizes> points_;
  CandidateRunner runner_;
  std::vector<std::shared_ptr<Search>> searches_;
  std::vector<bool> are_exhausted_;
  SizeTimes default_times_;
  std::vector<Measured> found_;
  std::vector<Trial> trials_;
  TrialTimes times_;
  std::size_t next_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace loopsmith::tune
