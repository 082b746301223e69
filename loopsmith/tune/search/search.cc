// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "loopsmith/support/user_error.h"
#include "loopsmith/tune/search/in_threads.h"

namespace loopsmith::tune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::size_t chunk = 16;  ///< So many candidates are drawn at once.
constexpr std::size_t max_attempts =
    200;  ///< In a row, without a new program: there are hardly any.
/// A pool that fills a batch is not made larger where more draws find one.
constexpr std::size_t draws_of_one = 8;
constexpr double worth_a_try = 30;     ///< Times what the best is predicted to take.
constexpr double fresh_share = 0.25;   ///< Of candidates, without parents.
constexpr double mutated_share = 0.8;  ///< Of those with parents; the others are crossed.

/// Whether samples make no legal schedule where this is thrown, or tiles whose size is no number.
bool is_refusal(const UserError& error) {
  return error.kind() == ErrorKind::schedule || error.kind() == ErrorKind::lower ||
         error.kind() == ErrorKind::bounds;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool has(const std::vector<Candidate>& candidates, const std::string& program) {
  return std::ranges::find(candidates, program, &Candidate::program) != candidates.end();
}

void erase(std::vector<Candidate>& candidates, const std::string& program) {
  std::erase_if(candidates, [&](const Candidate& each) { return each.program == program; });
}

/// Takes the candidates out that are there.
std::vector<Candidate> present(std::vector<std::optional<Candidate>> candidates) {
  std::vector<Candidate> found;
  for (auto& candidate : candidates) {
    if (candidate) found.push_back(*std::move(candidate));
  }
  return found;
}

}  // namespace

Search::Search(Ptr<PrimFunc> func, Space space, std::uint64_t seed, SearchParts parts)
    : func_(std::move(func)), space_(std::move(space)), random_(seed), parts_(std::move(parts)) {}

std::vector<Candidate> Search::propose(std::size_t limit, const NextCandidates& next) {
  if (batch_.empty()) batch_ = next_batch(next);
  const auto end = batch_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, batch_.size()));
  std::vector<Candidate> some(std::make_move_iterator(batch_.begin()),
                              std::make_move_iterator(end));
  batch_.erase(batch_.begin(), end);
  return some;
}

std::vector<Candidate> Search::next_batch(const NextCandidates& next) {
  if (const auto starts = std::exchange(space_.starts, {}); !starts.empty()) {
    std::vector<Plan> plans;
    for (const Decisions& decisions : starts) plans.push_back(plan_of(decisions));
    auto candidates = carried_out(plans);
    started_ = present(candidates);
    rank(candidates);
    if (auto fresh = present(std::move(candidates)); !fresh.empty()) return fresh;
  }
  return next(*this);
}

void Search::learn(const Candidate& candidate, double seconds) {
  teach(candidate, seconds);
  expected_.measure(candidate.program, seconds);
  remember(candidate.trace, seconds);
}

void Search::teach(const Candidate& candidate, double seconds) const {
  if (is_learning()) parts_.model.learn(candidate.func, seconds);
}

void Search::know(const std::string& program) {
  known_.insert(program);
  erase(batch_, program);
  erase(left_, program);
}

void Search::remember(const Trace& trace, double seconds) {
  const auto place = std::ranges::upper_bound(measured_, seconds, {}, &Measured::seconds);
  measured_.insert(place, {seconds, trace});
}

std::vector<Trace> Search::quickest() const {
  std::vector<Trace> traces;
  for (std::size_t i = 0; i < std::min(elite, measured_.size()); ++i) {
    traces.push_back(measured_[i].trace);
  }
  return traces;
}

std::vector<Candidate> Search::filled(const std::vector<Trace>& parents,
                                      std::vector<Candidate> pool, std::size_t size) {
  const std::size_t before = pool.size();
  std::size_t in_vain = 0, draws = 0;
  while (pool.size() < size && in_vain < max_attempts) {
    const std::size_t fresh = std::max(pool.size() - before, batch_size / 2);
    if (pool.size() > batch_size && draws > draws_of_one * fresh) break;
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < chunk; ++i) plans.push_back(plan(parents));
    in_vain += chunk;
    draws += chunk;
    for (Candidate& candidate : present(ranked(plans))) {
      if (pool.size() < size) {
        pool.push_back(std::move(candidate));
        in_vain = 0;
      } else {
        known_.erase(candidate.program);  // There was no place for it.
      }
    }
  }
  return pool;
}

std::vector<Candidate> Search::bred(const std::vector<Trace>& parents, std::vector<Candidate> pool,
                                    std::size_t size) {
  pool = filled(parents, std::move(pool), size);
  std::ranges::stable_sort(pool, {}, &Candidate::predicted);
  return pool;
}

std::vector<Candidate> Search::chosen(const std::vector<Candidate>& pool,
                                      const std::vector<Candidate>& near) {
  std::vector<Candidate> found(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                near.size(), batch_size / 3)));
  double longest = infinity;
  for (const Candidate& candidate : pool) {
    longest = std::min(longest, worth_a_try * candidate.predicted);
    if (!has(found, candidate.program)) found.push_back(candidate);
  }
  if (found.size() >= batch_size) {
    std::vector<Candidate> rest(found.begin() + (batch_size - 1), found.end());
    found.resize(batch_size - 1);
    std::erase_if(rest, [&](const Candidate& each) { return each.predicted > longest; });
    if (!rest.empty()) {
      std::uniform_int_distribution<std::size_t> any(0, rest.size() - 1);
      found.push_back(std::move(rest[any(random_)]));
    }
  }
  for (const Candidate& candidate : pool) known_.erase(candidate.program);
  for (const Candidate& candidate : std::exchange(left_, {})) known_.erase(candidate.program);
  if (has_model() && !is_learning()) {
    for (const Candidate& candidate : pool) {
      if (left_.size() < pool_size && !has(found, candidate.program)) left_.push_back(candidate);
    }
  }
  for (const auto* kept : {&found, &left_}) {
    for (const Candidate& candidate : *kept) known_.insert(candidate.program);
  }
  expect(pool);
  return found;
}

void Search::expect(const std::vector<Candidate>& pool) {
  if (!has_model()) return;
  std::map<std::string, double> predicted;
  for (const Candidate& candidate : pool) predicted.emplace(candidate.program, candidate.predicted);
  expected_.predict(predicted);
}

std::vector<std::optional<Candidate>> Search::ranked(const std::vector<Plan>& plans) {
  auto candidates = carried_out(plans);
  rank(candidates);
  return candidates;
}

void Search::each(std::vector<std::optional<Candidate>>& candidates, bool is_concurrent,
                  const std::function<void(std::size_t, std::optional<Candidate>&)>& task) {
  if (parts_.on_pause) parts_.on_pause();
  std::vector<std::optional<std::string>> said(candidates.size());
  in_threads(candidates.size(), is_concurrent ? parts_.threads : 1, [&](std::size_t i) {
    try {
      task(i, candidates[i]);
    } catch (const UserError& error) {
      if (!is_refusal(error)) throw;
      said[i] = first_line(error.problem());
    }
  });
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!said[i]) continue;
    ++refused_[*said[i]];
    candidates[i].reset();
  }
}

std::vector<std::optional<Candidate>> Search::carried_out(const std::vector<Plan>& plans) {
  std::vector<std::optional<Candidate>> candidates(plans.size());
  each(candidates, space_.is_concurrent, [&](std::size_t i, std::optional<Candidate>& candidate) {
    candidate = candidate_of(drawn(func_, space_, plans[i].seed, plans[i].decisions));
  });
  return candidates;
}

void Search::rank(std::vector<std::optional<Candidate>>& candidates) {
  for (auto& candidate : candidates) {
    if (candidate && !known_.insert(candidate->program).second) candidate.reset();
  }
  if (!has_model()) return;
  each(candidates, parts_.model.is_concurrent,
       [&](std::size_t, std::optional<Candidate>& candidate) {
         if (!candidate) return;
         const double predicted = parts_.model.predict(candidate->func);
         candidate->predicted = std::isnan(predicted) ? infinity : predicted;
       });
}

Search::Plan Search::plan(const std::vector<Trace>& parents) {
  if (parents.empty() || share() < fresh_share) return plan_of({});
  // The first is likelier than those after it.
  std::vector<double> weights;
  for (std::size_t i = parents.size(); i > 0; --i) weights.push_back(static_cast<double>(i));
  std::discrete_distribution<std::size_t> choose(weights.begin(), weights.end());
  const Trace& parent = parents[choose(random_)];
  return plan_of(share() < mutated_share ? changed(parent)
                                         : crossed(parent, parents[choose(random_)], random_));
}

std::int64_t Search::seed() {
  return std::uniform_int_distribution<std::int64_t>(1, Samples::modulus - 1)(random_);
}

Decisions Search::changed(const Trace& parent) {
  if (parts_.mutator) return parts_.mutator(parent, random_());
  return mutated(parent, random_).value_or(Decisions());
}

double Search::share() {
  return std::uniform_real_distribution<double>(0, 1)(random_);
}

}  // namespace loopsmith::tune
