// SPDX-License-Identifier: Apache-2.0
// Which schedules of a space are tried, and in which order.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/decisions.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {

/// A schedule that may be tried.
struct Candidate {
  Trace trace;
  Ptr<PrimFunc> func;    ///< As it is scheduled.
  std::string hash;      ///< The same for two candidates that are one program.
  double predicted = 0;  ///< Seconds of a call, about.
};

/// Does something with each number below `count`, in as many threads as the process may use.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& task);

/// An evolutionary search that a model leads.
///
/// For each batch a pool is drawn of the space, bred of the quickest that were measured, and for a
/// second generation of those of the pool that the model likes best: by a change of one decision,
/// or a cross of two. The best of the pool are proposed, and one at random. A program that was
/// proposed is not proposed again. The same with any number of threads.
class Search {
 public:
  /// Several threads draw from a space that `is_concurrent`. What `starts` decide is tried first.
  /// Times are predicted for `sizes`, the values of symbolic ones.
  Search(Ptr<PrimFunc> func, Space space, const CpuModel& machine, std::uint64_t seed,
         bool is_concurrent, std::vector<Decisions> starts = {}, Substitution sizes = {});

  /// The next candidates, at most `size`; none where nothing new is found any more.
  std::vector<Candidate> next_batch(std::size_t size);
  /// Takes note of what a candidate was measured to take.
  void learn(const Candidate& candidate, double seconds);

 private:
  struct Plan {
    std::int64_t seed;
    Decisions decisions;
  };
  struct Measured {
    double seconds;
    Trace trace;
  };

  Plan plan(const std::vector<Trace>& parents);
  /// The candidates of `starts_`, which are not drawn again.
  std::vector<Candidate> take_starts();
  std::optional<Candidate> carry_out(const Plan& plan) const;
  void breed(const std::vector<Trace>& parents, std::size_t size, std::vector<Candidate>& pool);

  Ptr<PrimFunc> func_;
  Space space_;
  CpuModel machine_;
  std::mt19937_64 random_;
  bool is_concurrent_;
  std::vector<Decisions> starts_;
  Substitution sizes_;
  std::set<std::string> known_;
  std::vector<Measured> measured_;  ///< The quickest first.
};

}  // namespace loopsmith::tune
