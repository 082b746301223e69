// SPDX-License-Identifier: Apache-2.0
// The search for a schedule of one function by the tuner of C++, step by step.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "loopsmith/tune/measure/candidate_runner.h"
#include "loopsmith/tune/records/trial_log.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/results/progress.h"
#include "loopsmith/tune/task.h"

namespace loopsmith::tune {

/// The search in a space, for arguments of some sizes.
std::shared_ptr<Search> search_in(const Space& space, const Ptr<PrimFunc>& func, const Sizes& sizes,
                                  std::uint64_t seed, const SearchOptions& options);

/// A task whose candidates are compiled in this process.
class FunctionTask {
 public:
  /// The options outlive it. It goes on with the trials of a log, which gets its own. Throws a
  /// UserError as `search` does.
  FunctionTask(const Ptr<PrimFunc>& func, const Space& space, const SearchOptions& options,
               std::optional<TrialLog> log = {});

  /// As those of `Task`.
  std::size_t step(std::size_t limit, const HasTime& has_time) {
    return task_.step(limit, has_time);
  }
  TaskState state(double weight) const { return task_.state(weight); }
  const std::vector<Trial>& trials() const { return *trials_; }
  FunctionProgress progress() const;
  /// Throws a UserError where there is none, or the program as it is written gives other results.
  Best best();

 private:
  TaskParts parts(const SearchOptions& options, std::optional<TrialLog> log) const;

  std::string name_;
  std::unique_ptr<CandidateRunner> runner_;
  std::shared_ptr<std::vector<Trial>> trials_ = std::make_shared<std::vector<Trial>>();
  Task task_;
};

}  // namespace loopsmith::tune
