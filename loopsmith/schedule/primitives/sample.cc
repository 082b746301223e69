// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/sample.h"

#include <algorithm>
#include <numeric>

namespace loopsmith {
namespace {

using Factors = std::vector<std::int64_t>;

/// A number from 0 to below `n`.
std::int64_t draw(Schedule& schedule, std::int64_t n) {
  return schedule.samples().next_random() % n;
}

/// Multiplies `count` factors, from `first` on, with p^power, spread over them: each way to do it
/// is as likely as any other.
void spread(Schedule& schedule, Factors& factors, std::size_t first, std::int64_t prime,
            std::int64_t power) {
  // Bars between stars: a random choice of places for the bars.
  const auto count = static_cast<std::int64_t>(factors.size() - first);
  std::int64_t stars = power, bars = count - 1;
  std::size_t place = first;
  while (stars + bars > 0) {
    if (draw(schedule, stars + bars) < bars) {
      ++place;
      --bars;
    } else {
      factors[place] *= prime;
      --stars;
    }
  }
}

/// Factors of which the product is `extent`, those before `first` 1.
Factors draw_factors(Schedule& schedule, std::int64_t extent, std::int64_t count,
                     std::size_t first) {
  Factors factors(static_cast<std::size_t>(count), 1);
  for (std::int64_t prime = 2; extent > 1; ++prime) {
    if (prime * prime > extent) prime = extent;
    std::int64_t power = 0;
    for (; extent % prime == 0; extent /= prime) ++power;
    if (power > 0) spread(schedule, factors, first, prime, power);
  }
  return factors;
}

/// A decision for this extent: factors that do not divide what is left become what is left.
Factors mended(const Factors& decision, std::int64_t extent) {
  Factors factors(decision.size(), 1);
  for (std::size_t i = factors.size(); i-- > 1;) {
    const bool divides = decision[i] > 0 && extent % decision[i] == 0;
    factors[i] = divides ? decision[i] : extent;
    extent /= factors[i];
  }
  factors[0] = extent;
  return factors;
}

Factors decide(Schedule& schedule, const SampleTilePlan& plan) {
  if (plan.extent == 0) {
    Factors factors(static_cast<std::size_t>(plan.count), 1);
    factors[0] = -1;
    return factors;
  }
  if (plan.decision) return mended(*plan.decision, plan.extent);
  // Many tries find an innermost factor that is small enough; 1 always is.
  constexpr int max_tries = 1000;
  const auto inner = static_cast<std::size_t>(plan.partition);
  for (int i = 0; i < max_tries; ++i) {
    Factors factors = draw_factors(schedule, plan.extent / plan.inner_factor, plan.count, 0);
    const Factors more = draw_factors(schedule, plan.inner_factor, plan.count, inner);
    for (std::size_t k = 0; k < factors.size(); ++k) factors[k] *= more[k];
    if (plan.max_innermost < 0 || factors.back() <= plan.max_innermost) return factors;
  }
  Factors factors(static_cast<std::size_t>(plan.count), 1);
  factors[0] = plan.extent;
  return factors;
}

/// The factors that the schedule was told, where they are that many.
std::optional<Factors> told_factors(Schedule& schedule, std::int64_t count) {
  const auto told = schedule.told_decision();
  const auto* list = told ? told->as<Argument::List>() : nullptr;
  if (!list || static_cast<std::int64_t>(list->size()) != count) return {};
  Factors factors;
  for (const Argument& each : *list) {
    const auto* factor = each.as<std::int64_t>();
    if (!factor) return {};
    factors.push_back(*factor);
  }
  return factors;
}

std::int64_t extent_of(const For& loop) {
  const auto* extent = loop.extent.as<IntImm>();
  return extent && extent->value > 0 ? extent->value : 0;
}

std::optional<Refusal> refuse_count(LoopRV loop, std::int64_t count, std::int64_t least,
                                    const std::optional<Factors>& decision) {
  const bool fits = !decision || static_cast<std::int64_t>(decision->size()) == count;
  if (count >= least && fits) return {};
  return Refusal{&factors_can_be_chosen, {Argument(count), Argument(loop)}};
}

}  // namespace

Planned<SampleCategoricalPlan> plan_sample_categorical(
    const Schedule&, const SampleCategoricalArguments& arguments) {
  const auto& [candidates, probs, decision] = arguments;
  const auto size = static_cast<std::int64_t>(candidates.size());
  const bool is_weighed = candidates.size() == probs.size() &&
                          std::ranges::all_of(probs, [](double p) { return p >= 0; }) &&
                          std::accumulate(probs.begin(), probs.end(), 0.0) > 0;
  if (!is_weighed) {
    return Refusal{&each_candidate_has_a_weight,
                   {Argument(size), Argument(static_cast<std::int64_t>(probs.size()))}};
  }
  if (decision && (*decision < 0 || *decision >= size)) {
    return Refusal{&number_is_in_range,
                   {Argument("decision"), Argument(*decision), Argument(0), Argument(size - 1)}};
  }
  return SampleCategoricalPlan{candidates, probs, decision};
}

ExprRV commit_sample_categorical(Schedule& schedule, SampleCategoricalPlan&& plan) {
  std::size_t chosen = 0;
  if (const auto told = schedule.told_decision()) {
    const auto* place = told->as<std::int64_t>();
    const auto count = static_cast<std::int64_t>(plan.candidates.size());
    if (place && *place >= 0 && *place < count) plan.decision = *place;
  }
  if (plan.decision) {
    chosen = static_cast<std::size_t>(*plan.decision);
  } else {
    const double total = std::accumulate(plan.probs.begin(), plan.probs.end(), 0.0);
    double rest = static_cast<double>(schedule.samples().next_random()) / 2147483647.0 * total;
    while (chosen + 1 < plan.probs.size() && rest >= plan.probs[chosen]) {
      rest -= plan.probs[chosen++];
    }
  }
  schedule.record_decision(static_cast<std::int64_t>(chosen));
  return schedule.add_hole(plan.candidates[chosen]);
}

Planned<SampleTilePlan> plan_sample_perfect_tile(const Schedule& schedule,
                                                 const SamplePerfectTileArguments& arguments) {
  const std::int64_t least = arguments.max_innermost_factor < 0 ? 1 : 2;
  if (auto refusal = refuse_count(arguments.loop, arguments.n, least, arguments.decision)) {
    return *std::move(refusal);
  }
  return SampleTilePlan{.extent = extent_of(schedule.get(arguments.loop)),
                        .count = arguments.n,
                        .max_innermost = arguments.max_innermost_factor,
                        .partition = 0,
                        .inner_factor = 1,
                        .decision = arguments.decision};
}

Planned<SampleTilePlan> plan_sample_partitioned_tile(
    const Schedule& schedule, const SamplePartitionedTileArguments& arguments) {
  if (auto refusal = refuse_count(arguments.loop, arguments.n, 1, arguments.decision)) {
    return *std::move(refusal);
  }
  const bool has_parts = arguments.partition_pos >= 0 && arguments.partition_pos < arguments.n &&
                         arguments.innerpart_factor >= 1;
  if (!has_parts) {
    return Refusal{&factors_can_be_chosen, {Argument(arguments.n), Argument(arguments.loop)}};
  }
  const std::int64_t extent = extent_of(schedule.get(arguments.loop));
  const bool divides = extent % arguments.innerpart_factor == 0;
  return SampleTilePlan{.extent = divides ? extent : 0,
                        .count = arguments.n,
                        .max_innermost = -1,
                        .partition = arguments.partition_pos,
                        .inner_factor = arguments.innerpart_factor,
                        .decision = arguments.decision};
}

Handles<ExprRV> commit_sample_tile(Schedule& schedule, SampleTilePlan&& plan) {
  if (auto told = told_factors(schedule, plan.count)) plan.decision = std::move(told);
  const Factors factors = decide(schedule, plan);
  schedule.record_decision(to_argument(factors));
  Handles<ExprRV> holes;
  for (const std::int64_t factor : factors) holes.push_back(schedule.add_hole(factor));
  return holes;
}

}  // namespace loopsmith
