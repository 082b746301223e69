// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/decisions.h"

#include <algorithm>

#include "loopsmith/schedule/primitive_base.h"

namespace loopsmith::tune {
namespace {

using Numbers = std::vector<std::int64_t>;

std::size_t below(std::mt19937_64& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

template <class T>
const T& one_of(const std::vector<T>& values, std::mt19937_64& random) {
  return values[below(random, values.size())];
}

Numbers prime_factors(std::int64_t number) {
  Numbers found;
  for (std::int64_t prime = 2; prime * prime <= number; ++prime) {
    for (; number % prime == 0; number /= prime) found.push_back(prime);
  }
  if (number > 1) found.push_back(number);
  return found;
}

std::optional<Argument> other_candidate(const Step& step, std::mt19937_64& random) {
  const auto& weights = *step.arguments[1].as<Argument::List>();
  const auto* decided = step.arguments[2].as<std::int64_t>();
  Numbers others;
  for (std::size_t place = 0; place < weights.size(); ++place) {
    const auto* weight = weights[place].as<double>();
    const auto number = static_cast<std::int64_t>(place);
    if (weight && *weight > 0 && (!decided || *decided != number)) others.push_back(number);
  }
  if (others.empty()) return {};
  return Argument(one_of(others, random));
}

std::optional<Argument> other_factors(const Step& step, std::mt19937_64& random) {
  const auto* decided = step.arguments.back().as<Argument::List>();
  if (!decided || decided->size() < 2) return {};
  Numbers factors;
  for (const Argument& each : *decided) {
    const auto* factor = each.as<std::int64_t>();
    factors.push_back(factor ? *factor : 1);
  }
  std::vector<std::size_t> sources;
  for (std::size_t place = 0; place < factors.size(); ++place) {
    if (factors[place] > 1) sources.push_back(place);
  }
  if (sources.empty()) return {};
  const std::size_t source = one_of(sources, random);
  const std::size_t target = (source + 1 + below(random, factors.size() - 1)) % factors.size();
  const std::int64_t prime = one_of(prime_factors(factors[source]), random);
  factors[source] /= prime;
  factors[target] *= prime;
  const bool is_limited = step.primitive->name == "sample_perfect_tile";
  const auto* largest = is_limited ? step.arguments[2].as<std::int64_t>() : nullptr;
  if (largest && *largest > 0 && factors.back() > *largest) return {};
  return to_argument(factors);
}

std::optional<Argument> other_location(const Step& step, std::mt19937_64& random) {
  constexpr std::int64_t inlined = -2, deepest = 7;
  const auto* decided = step.arguments.back().as<std::int64_t>();
  Numbers others;
  for (std::int64_t place = inlined; place <= deepest; ++place) {
    if (!decided || *decided != place) others.push_back(place);
  }
  return Argument(one_of(others, random));
}

}  // namespace

Decisions decisions_of(const Trace& trace) {
  Decisions found;
  for (std::size_t i = 0; i < trace.steps().size(); ++i) {
    if (auto decision = trace.decision(i)) {
      found.emplace_back(trace.steps()[i].primitive->name, *std::move(decision));
    }
  }
  return found;
}

std::optional<Decisions> mutated(const Trace& trace, std::mt19937_64& random) {
  std::vector<std::size_t> samples;
  for (std::size_t i = 0; i < trace.steps().size(); ++i) {
    if (trace.decision(i)) samples.push_back(i);
  }
  if (samples.empty()) return {};
  const std::size_t which = below(random, samples.size());
  const Step& step = trace.steps()[samples[which]];
  const bool is_categorical = step.primitive->name == "sample_categorical";
  const bool is_location = step.primitive->name == "sample_compute_location";
  auto changed = is_categorical ? other_candidate(step, random)
                 : is_location  ? other_location(step, random)
                                : other_factors(step, random);
  if (!changed) return {};
  Decisions decisions = decisions_of(trace);
  decisions[which].second = *std::move(changed);
  return decisions;
}

Decisions crossed(const Trace& first, const Trace& second, std::mt19937_64& random) {
  Decisions decisions = decisions_of(first);
  const Decisions others = decisions_of(second);
  const std::size_t count = std::min(decisions.size(), others.size());
  for (std::size_t i = 0; i < count && decisions[i].first == others[i].first; ++i) {
    if (below(random, 2) == 0) decisions[i] = others[i];
  }
  return decisions;
}

}  // namespace loopsmith::tune
