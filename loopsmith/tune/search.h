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

/// Seconds of a call of a scheduled function, about.
using Model = std::function<double(const Ptr<PrimFunc>&)>;
/// The model of a processor, for values of symbolic sizes.
Model model_of(const CpuModel& machine, Substitution sizes = {});

/// What may be other than it is.
struct SearchParts {
  Model model;
  /// Other decisions for those of a candidate, with what a seed gives; none: `mutated`.
  std::function<Decisions(const Decisions& decided, std::uint64_t seed)> mutator = {};
  std::vector<Decisions> starts = {};  ///< What is tried first.
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
  /// Where it `is_concurrent`, several threads draw from the space, and predict.
  Search(Ptr<PrimFunc> func, Space space, std::uint64_t seed, bool is_concurrent,
         SearchParts parts);

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
  Decisions changed(const Trace& parent);
  /// The candidates of the starts, which are not drawn again.
  std::vector<Candidate> take_starts();
  std::optional<Candidate> carry_out(const Plan& plan) const;
  void breed(const std::vector<Trace>& parents, std::size_t size, std::vector<Candidate>& pool);

  Ptr<PrimFunc> func_;
  Space space_;
  std::mt19937_64 random_;
  bool is_concurrent_;
  SearchParts parts_;
  std::set<std::string> known_;
  std::vector<Measured> measured_;  ///< The quickest first.
};

}  // namespace loopsmith::tune
