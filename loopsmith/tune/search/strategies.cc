// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/strategies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace loopsmith::tune {
namespace {

constexpr std::size_t generations = 2;

constexpr std::size_t walkers = 12;
constexpr int walked_steps = 10;
constexpr double hottest = 0.5, coldest = 0.02;  ///< Temperatures, of logarithms of times.

std::vector<Candidate> joined(std::vector<Candidate> first, const std::vector<Candidate>& others) {
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

}  // namespace

std::vector<Candidate> evolutionary(Search& search) {
  const std::vector<Trace> measured = search.quickest();
  std::vector<Candidate> near;
  if (!measured.empty()) near = search.bred(measured, {}, 2 * Search::batch_size);
  std::vector<Candidate> pool = joined(near, search.left());
  std::vector<Trace> parents = measured;
  for (std::size_t made = 1; made <= (search.has_model() ? generations : 1); ++made) {
    pool = search.bred(parents, std::move(pool), near.size() + made * Search::pool_size);
    parents.clear();
    for (std::size_t i = 0; i < std::min(Search::elite, pool.size()); ++i) {
      parents.push_back(pool[i].trace);
    }
    parents.insert(parents.end(), measured.begin(), measured.end());
  }
  return search.chosen(pool, near);
}

std::vector<Candidate> annealed(Search& search) {
  const std::vector<Trace> measured = search.quickest();
  std::vector<Candidate> near;
  if (!measured.empty()) near = search.bred(measured, {}, walkers);
  std::vector<Candidate> walking = near.empty() ? search.bred({}, {}, walkers) : near;
  std::vector<Candidate> pool = joined(walking, search.left());
  const int steps = search.has_model() && !walking.empty() ? walked_steps : 0;
  for (int step = 0; step < steps; ++step) {
    const double temperature =
        hottest * std::pow(coldest / hottest, static_cast<double>(step) / (walked_steps - 1));
    std::vector<Search::Plan> plans;
    for (const Candidate& at : walking) plans.push_back(search.plan_of(search.changed(at.trace)));
    auto seen = search.ranked(plans);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) continue;
      pool.push_back(*seen[i]);
      const double chance = chance_of(walking[i].predicted, seen[i]->predicted, temperature);
      if (search.share() < chance) walking[i] = *std::move(seen[i]);
    }
  }
  std::ranges::stable_sort(pool, {}, &Candidate::predicted);
  return search.chosen(pool, near);
}

double chance_of(double here, double there, double temperature) {
  if (there <= here) return 1;
  return here > 0 ? std::exp(-std::log(there / here) / temperature) : 0;
}

std::vector<Candidate> at_random(Search& search) {
  std::vector<Candidate> pool = search.filled({}, {}, Search::batch_size);
  search.expect(pool);
  return pool;
}

Search::NextCandidates candidates_by(Strategy strategy) {
  switch (strategy) {
    case Strategy::evolutionary: return evolutionary;
    case Strategy::annealed: return annealed;
    case Strategy::random: return at_random;
  }
  return evolutionary;
}

}  // namespace loopsmith::tune
