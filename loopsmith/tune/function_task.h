// SPDX-License-Identifier: Apache-2.0
// The searches for schedules of one function by the tuner of C++, step by step.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "loopsmith/tune/measure/candidate_runner.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/results/progress.h"
#include "loopsmith/tune/sizes_task.h"
#include "loopsmith/tune/task.h"

namespace loopsmith::tune {

/// The search in a space, for arguments of some sizes.
std::shared_ptr<Search> search_in(const Space& space, const Ptr<PrimFunc>& func, const Sizes& sizes,
                                  std::uint64_t seed, const SearchOptions& options);

/// The log of the searches with some sizes, which go on with its trials; none: they are not kept.
using LogOf = std::function<std::optional<TrialLog>(const std::vector<Sizes>&)>;

/// What a task of C++ works with: candidates are compiled in this process.
class FunctionParts {
 public:
  /// Of no points, arguments are those of the options, which outlive it.
  FunctionParts(const Ptr<PrimFunc>& func, const std::vector<DrawnSizes>& points,
                const SearchOptions& options);

  const CandidateRunner& runner() const { return *runner_; }
  std::vector<Trial>& trials() const { return *trials_; }
  /// In a duel, a candidate is measured so often warm and cold.
  TaskParts parts(const Space& space, const LogOf& log, int warm, int cold) const;
  FunctionProgress progress(const Exploration& task) const;

 private:
  Ptr<PrimFunc> func_;
  std::vector<DrawnSizes> points_;
  const SearchOptions& options_;
  std::unique_ptr<CandidateRunner> runner_;
  std::shared_ptr<std::vector<Trial>> trials_ = std::make_shared<std::vector<Trial>>();
};

/// The search for a schedule for arguments of the same sizes.
class FunctionTask {
 public:
  /// The options outlive it. Throws a UserError as `search` does.
  FunctionTask(const Ptr<PrimFunc>& func, const Space& space, const SearchOptions& options,
               const LogOf& log);

  Exploration& exploration() { return task_; }
  const std::vector<Trial>& trials() const { return parts_.trials(); }
  FunctionProgress progress() const { return parts_.progress(task_); }
  /// Throws a UserError where there is none, or the program as it is written gives other results.
  Best best();

 private:
  FunctionParts parts_;
  Task task_;
};

/// The search for schedules for sizes that were drawn.
class FunctionSizesTask {
 public:
  /// The options outlive it. Throws a UserError as `search_sizes` does.
  FunctionSizesTask(const Ptr<PrimFunc>& func, const std::vector<DrawnSizes>& points,
                    const Space& space, const SearchOptions& options, const LogOf& log);

  Exploration& exploration() { return task_; }
  const std::vector<Trial>& trials() const { return parts_.trials(); }
  FunctionProgress progress() const { return parts_.progress(task_); }
  /// Throws a UserError where nothing could be measured, or what was chosen is wrong.
  BestSizes best();

 private:
  Ptr<PrimFunc> func_;
  FunctionParts parts_;
  SizesTask task_;
};

}  // namespace loopsmith::tune
