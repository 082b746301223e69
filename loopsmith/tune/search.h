// SPDX-License-Identifier: Apache-2.0
// Which schedules of a space are tried, and in which order.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/decisions.h"
#include "loopsmith/tune/expected_gain.h"
#include "loopsmith/tune/sizes.h"
#include "loopsmith/tune/spaces/space.h"
#include "loopsmith/tune/strategy.h"

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
/// The model of a processor.
Model model_of(const CpuModel& machine);
/// A model that takes symbolic sizes for numbers.
Model with_sizes(Model model, Sizes sizes);

/// What may be other than it is.
struct SearchParts {
  Model model;
  /// Other decisions for those of a candidate, with what a seed gives; none: `mutated`.
  std::function<Decisions(const Decisions& decided, std::uint64_t seed)> mutator = {};
  std::vector<Decisions> starts = {};  ///< What is tried first.
  Strategy strategy = Strategy::evolutionary;
};

/// Does something with each number below `count`, in as many threads as the process may use.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& task);

/// A search that a model leads, by one of the strategies.
///
/// For each batch a pool is made, by default drawn of the space, bred of the quickest that were
/// measured, and for a second generation of those of the pool that the model likes best: by a
/// change of one decision, or a cross of two. The best of the pool are proposed, and one at random.
/// A program that was proposed is not proposed again. The same with any number of threads.
class Search {
 public:
  /// Where it `is_concurrent`, several threads draw from the space, and predict.
  Search(Ptr<PrimFunc> func, Space space, std::uint64_t seed, bool is_concurrent,
         SearchParts parts);

  /// The next candidates, at most `size`; none where nothing new is found any more.
  std::vector<Candidate> next_batch(std::size_t size);
  /// Takes note of what a candidate was measured to take.
  void learn(const Candidate& candidate, double seconds);
  /// Leaves out a candidate that another search proposed.
  void know(const Candidate& candidate) { known_.insert(candidate.hash); }
  /// What the best one left is expected to save, as a share of the best time so far.
  double expected_gain(double best) const { return expected_.share_of(best); }
  /// How many draws were no legal schedule, by what was said.
  const std::map<std::string, int>& refused() const { return refused_; }

 private:
  struct Plan {
    std::int64_t seed;
    Decisions decisions;
  };
  struct Measured {
    double seconds;
    Trace trace;
  };

  /// A plan of decisions, with a seed for those that they leave open.
  Plan plan_of(Decisions decisions);
  Plan plan(const std::vector<Trace>& parents);
  Decisions changed(const Trace& parent);
  /// The candidates of the starts, which are not drawn again.
  std::vector<Candidate> take_starts();
  /// The candidates of some plans, by several threads where they may; nothing in the place of what
  /// is no legal schedule, or known.
  std::vector<std::optional<Candidate>> carried_out(const std::vector<Plan>& plans);
  std::variant<Candidate, std::string> carry_out(const Plan& plan) const;
  void breed(const std::vector<Trace>& parents, std::size_t size, std::vector<Candidate>& pool);
  std::vector<Candidate> bred_pool(const std::vector<Trace>& quickest);
  std::vector<Candidate> walked_pool(const std::vector<Trace>& quickest);

  Ptr<PrimFunc> func_;
  Space space_;
  std::mt19937_64 random_;
  bool is_concurrent_;
  SearchParts parts_;
  std::set<std::string> known_;
  std::vector<Measured> measured_;  ///< The quickest first.
  ExpectedGain expected_;
  std::map<std::string, int> refused_;
};

}  // namespace loopsmith::tune
