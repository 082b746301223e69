// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <thread>
#include <utility>

#include "loopsmith/ir/structural.h"
#include "loopsmith/runtime/cpus.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/tune/cost_model.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t pool_size = 40;
constexpr int generations = 2;
constexpr std::size_t elite = 12;      ///< How many of the quickest have descendants.
constexpr std::size_t chunk = 16;      ///< So many candidates are drawn at once.
constexpr std::size_t attempts = 200;  ///< In a row, without a new program: there are hardly any.
constexpr double worth_a_try = 30;     ///< Times what the best is predicted to take.
constexpr double fresh_share = 0.25;   ///< Of candidates, without parents.
constexpr double mutated_share = 0.8;  ///< Of those with parents; the others are crossed.

constexpr std::size_t walkers = 12;
constexpr int walked_steps = 10;
constexpr double hottest = 0.5, coldest = 0.02;  ///< Temperatures, of logarithms of times.

void sort_by_prediction(std::vector<Candidate>& pool) {
  std::ranges::stable_sort(pool, {}, &Candidate::predicted);
}

}  // namespace

void in_threads(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::atomic_flag has_failed;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        if (!has_failed.test_and_set()) failure = std::current_exception();
        next = count;
      }
    }
  };
  const auto threads = std::min(count, static_cast<std::size_t>(default_num_threads()));
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

Model model_of(const CpuModel& machine) {
  return [machine](const Ptr<PrimFunc>& func) {
    LowerOptions options;
    options.vector_bits = machine.vector_bytes * 8;
    return estimate(func, machine, options);
  };
}

Model with_sizes(Model model, Sizes sizes) {
  if (sizes.empty()) return model;
  return [model = std::move(model), sizes = std::move(sizes)](const Ptr<PrimFunc>& func) {
    return model(with_sizes(func, sizes));
  };
}

Search::Search(Ptr<PrimFunc> func, Space space, std::uint64_t seed, bool is_concurrent,
               SearchParts parts)
    : func_(std::move(func)),
      space_(std::move(space)),
      random_(seed),
      is_concurrent_(is_concurrent),
      parts_(std::move(parts)) {}

Decisions Search::changed(const Trace& parent) {
  if (parts_.mutator) return parts_.mutator(decisions_of(parent), random_());
  return mutated(parent, random_).value_or(Decisions());
}

Search::Plan Search::plan_of(Decisions decisions) {
  const auto seed = 1 + static_cast<std::int64_t>(random_() % 2147483646);
  return {.seed = seed, .decisions = std::move(decisions)};
}

Search::Plan Search::plan(const std::vector<Trace>& parents) {
  std::uniform_real_distribution<double> share(0, 1);
  Plan made = plan_of({});
  if (parents.empty() || share(random_) < fresh_share) return made;
  // The first is likelier than those after it.
  std::vector<double> weights;
  for (std::size_t i = parents.size(); i > 0; --i) weights.push_back(static_cast<double>(i));
  std::discrete_distribution<std::size_t> choose(weights.begin(), weights.end());
  const Trace& parent = parents[choose(random_)];
  made.decisions = share(random_) < mutated_share
                       ? changed(parent)
                       : crossed(parent, parents[choose(random_)], random_);
  return made;
}

std::variant<Candidate, std::string> Search::carry_out(const Plan& plan) const {
  Schedule schedule(func_, plan.seed);
  schedule.samples().tell(plan.decisions);
  try {
    space_(schedule);
    Candidate made{.trace = schedule.trace(), .func = recorded_func(schedule), .hash = {}};
    made.hash = to_string(structural_hash(made.func));
    made.predicted = parts_.model(made.func);
    return made;
  } catch (const UserError& error) {  // What was drawn is no schedule, or it cannot be lowered.
    return std::string(error.problem());
  }
}

std::vector<std::optional<Candidate>> Search::carried_out(const std::vector<Plan>& plans) {
  std::vector<std::variant<Candidate, std::string>> drawn(plans.size());
  const auto carry = [&](std::size_t i) { drawn[i] = carry_out(plans[i]); };
  if (is_concurrent_) {
    in_threads(plans.size(), carry);
  } else {
    for (std::size_t i = 0; i < plans.size(); ++i) carry(i);
  }
  std::vector<std::optional<Candidate>> fresh(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (const auto* why = std::get_if<std::string>(&drawn[i])) {
      ++refused_[*why];
    } else if (auto& made = std::get<Candidate>(drawn[i]); known_.insert(made.hash).second) {
      fresh[i] = std::move(made);
    }
  }
  return fresh;
}

void Search::breed(const std::vector<Trace>& parents, std::size_t size,
                   std::vector<Candidate>& pool) {
  std::size_t in_vain = 0;
  while (pool.size() < size && in_vain < attempts) {
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < chunk; ++i) plans.push_back(plan(parents));
    in_vain += chunk;
    for (auto& candidate : carried_out(plans)) {
      if (!candidate) continue;
      if (pool.size() == size) {
        known_.erase(candidate->hash);  // There was no place for it.
        continue;
      }
      pool.push_back(*std::move(candidate));
      in_vain = 0;
    }
  }
  sort_by_prediction(pool);
}

std::vector<Candidate> Search::bred_pool(const std::vector<Trace>& quickest) {
  std::vector<Candidate> pool;
  std::vector<Trace> parents = quickest;
  for (int generation = 1; generation <= generations; ++generation) {
    breed(parents, static_cast<std::size_t>(generation) * pool_size, pool);
    parents = quickest;
    for (std::size_t i = 0; i < std::min(elite, pool.size()); ++i) {
      parents.push_back(pool[i].trace);
    }
  }
  return pool;
}

/// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983) of the logarithm of the predicted time.
/// Each step changes one decision, and is taken if the model predicts no more time, or else with
/// the probability exp(-d / t), where d is by how much the logarithm grows, and t falls. The pool
/// is all that was seen.
std::vector<Candidate> Search::walked_pool(const std::vector<Trace>& quickest) {
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<Candidate> pool;
  breed(quickest, walkers, pool);
  std::vector<Candidate> walking = pool;
  for (int step = 0; step < walked_steps; ++step) {
    const double temperature =
        hottest * std::pow(coldest / hottest, static_cast<double>(step) / (walked_steps - 1));
    std::vector<Plan> plans;
    for (const Candidate& at : walking) plans.push_back(plan_of(changed(at.trace)));
    std::vector<std::optional<Candidate>> seen = carried_out(plans);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) continue;
      const double growth = std::log(seen[i]->predicted / walking[i].predicted);
      if (growth <= 0 || share(random_) < std::exp(-growth / temperature)) walking[i] = *seen[i];
      pool.push_back(*std::move(seen[i]));
    }
  }
  sort_by_prediction(pool);
  return pool;
}

std::vector<Candidate> Search::take_starts() {
  std::vector<Plan> plans;
  for (Decisions& decisions : std::exchange(parts_.starts, {})) {
    plans.push_back({.seed = 1, .decisions = std::move(decisions)});
  }
  std::vector<Candidate> found;
  for (auto& candidate : carried_out(plans)) {
    if (candidate) found.push_back(*std::move(candidate));
  }
  return found;
}

std::vector<Candidate> Search::next_batch(std::size_t size) {
  if (auto first = take_starts(); !first.empty()) return first;
  std::vector<Trace> quickest;
  for (std::size_t i = 0; i < std::min(elite, measured_.size()); ++i) {
    quickest.push_back(measured_[i].trace);
  }
  std::vector<Candidate> pool;
  switch (parts_.strategy) {
    case Strategy::evolutionary: pool = bred_pool(quickest); break;
    case Strategy::annealed: pool = walked_pool(quickest); break;
    case Strategy::random: breed({}, size, pool); break;
  }
  std::map<std::string, double> predicted;
  for (const Candidate& candidate : pool) predicted.emplace(candidate.hash, candidate.predicted);
  expected_.predict(predicted);
  if (pool.size() > size) {  // One is any.
    const auto last = static_cast<std::ptrdiff_t>(size) - 1;
    const auto slow = std::ranges::upper_bound(pool, worth_a_try * pool.front().predicted, {},
                                               &Candidate::predicted);
    std::uniform_int_distribution<std::ptrdiff_t> any(
        last, std::max<std::ptrdiff_t>(slow - pool.begin() - 1, last));
    std::iter_swap(pool.begin() + last, pool.begin() + any(random_));
  }
  // What is not proposed may come again.
  for (std::size_t i = size; i < pool.size(); ++i) known_.erase(pool[i].hash);
  pool.resize(std::min(size, pool.size()));
  return pool;
}

void Search::learn(const Candidate& candidate, double seconds) {
  expected_.measure(candidate.hash, seconds);
  const auto place = std::ranges::upper_bound(measured_, seconds, {}, &Measured::seconds);
  measured_.insert(place, {seconds, candidate.trace});
}

}  // namespace loopsmith::tune
