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
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/cpus.h"
#include "loopsmith/tune/model/model.h"
#include "loopsmith/tune/search/candidate.h"
#include "loopsmith/tune/search/expected_gain.h"
#include "loopsmith/tune/spaces/decisions.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {

/// What may be other than it is.
struct SearchParts {
  Model model =
      {};  ///< Without a prediction, candidates come in the order in which they are drawn.
  /// Other decisions for those of a trace, with what a seed gives; none: `mutated`.
  std::function<Decisions(const Trace& parent, std::uint64_t seed)> mutator = {};
  int threads = default_num_threads();  ///< So many draw and predict, where they may.
  std::function<void()> on_pause = {};  ///< Called every few milliseconds; it may throw.
};

/// Proposes schedules of a space, in batches; a strategy (`strategies.h`) makes each of what is
/// here. The first batch is that with which the space starts. A program that was proposed is not
/// proposed again. The same with any number of threads.
class Search {
 public:
  static constexpr std::size_t batch_size = 10;
  static constexpr std::size_t pool_size = 40;
  static constexpr std::size_t elite = 12;  ///< How many of the quickest have descendants.

  /// The seed of a candidate, and what its first samples decide.
  struct Plan {
    std::int64_t seed;
    Decisions decisions;
  };
  /// Makes a batch; an empty one where nothing new is found any more.
  using NextCandidates = std::function<std::vector<Candidate>(Search&)>;

  Search(Ptr<PrimFunc> func, Space space, std::uint64_t seed, SearchParts parts);

  /// What is searched, without a schedule.
  const Ptr<PrimFunc>& func() const { return func_; }

  // ---- For whom measures ----

  /// At most so many candidates, of one batch; none where nothing new is found any more.
  std::vector<Candidate> propose(std::size_t limit, const NextCandidates& next);
  /// Takes note of what a candidate was measured to take.
  void learn(const Candidate& candidate, double seconds);
  /// Tells a model that learns what a candidate was measured to take.
  void teach(const Candidate& candidate, double seconds) const;
  /// Leaves out a program that another search proposed.
  void know(const std::string& program);
  /// Takes note of what the candidate of a trace was measured to take, in another search, too: the
  /// quickest have descendants.
  void remember(const Trace& trace, double seconds);
  /// What the best one left is expected to save, as a share of the best time so far. Infinity as
  /// long as predictions could not be compared with measurements.
  double expected_gain(double best) const { return expected_.share_of(best); }
  /// How many draws were no legal schedule, by the first line of what was said.
  const std::map<std::string, int>& refused() const { return refused_; }
  /// The candidates with which the space starts, once one was asked for.
  const std::vector<Candidate>& started() const { return started_; }

  // ---- For strategies ----

  bool has_model() const { return static_cast<bool>(parts_.model.predict); }
  bool is_learning() const { return static_cast<bool>(parts_.model.learn); }
  /// The traces of the quickest that were measured, the quickest first.
  std::vector<Trace> quickest() const;
  /// What the model likes of earlier pools, and was not proposed.
  const std::vector<Candidate>& left() const { return left_; }
  /// A pool with more candidates, up to a size if so many are found, as they were drawn. Some are
  /// descendants of the parents, some are of the whole space.
  std::vector<Candidate> filled(const std::vector<Trace>& parents, std::vector<Candidate> pool,
                                std::size_t size);
  /// The same, those first that are predicted to be quickest.
  std::vector<Candidate> bred(const std::vector<Trace>& parents, std::vector<Candidate> pool,
                              std::size_t size);
  /// A batch: some of `near`, which comes of what was measured, the best of the pool, and any one
  /// that is not predicted to take much longer.
  ///
  /// What is not chosen may be drawn again, but for the best of it, which is `left` for the next
  /// pool, unless a model that learns will say something else of it by then.
  std::vector<Candidate> chosen(const std::vector<Candidate>& pool,
                                const std::vector<Candidate>& near);
  /// Takes note of what is predicted of a pool, for `expected_gain`.
  void expect(const std::vector<Candidate>& pool);
  /// Carries out plans, and predicts; nothing in the place of what is no legal schedule, or known.
  std::vector<std::optional<Candidate>> ranked(const std::vector<Plan>& plans);
  /// A plan of decisions, with a seed for those that they leave open.
  Plan plan_of(Decisions decisions) { return {.seed = seed(), .decisions = std::move(decisions)}; }
  std::int64_t seed();
  /// The decisions of a trace, one of them changed, or as the mutator has them; none where there is
  /// nothing to change.
  Decisions changed(const Trace& parent);
  /// A number from 0 to below 1.
  double share();

 private:
  struct Measured {
    double seconds;
    Trace trace;
  };

  Plan plan(const std::vector<Trace>& parents);
  std::vector<Candidate> next_batch(const NextCandidates& next);
  /// Does something for each candidate, in threads where they may; those for which it is refused
  /// are counted, and none any more.
  void each(std::vector<std::optional<Candidate>>& candidates, bool is_concurrent,
            const std::function<void(std::size_t, std::optional<Candidate>&)>& task);
  std::vector<std::optional<Candidate>> carried_out(const std::vector<Plan>& plans);
  /// Leaves out what is known, and predicts of the others.
  void rank(std::vector<std::optional<Candidate>>& candidates);

  Ptr<PrimFunc> func_;
  Space space_;
  std::mt19937_64 random_;
  SearchParts parts_;
  std::set<std::string> known_;     ///< Programs that are not proposed again.
  std::vector<Measured> measured_;  ///< The quickest first.
  std::vector<Candidate> batch_, started_, left_;
  ExpectedGain expected_;
  std::map<std::string, int> refused_;
};

}  // namespace loopsmith::tune
