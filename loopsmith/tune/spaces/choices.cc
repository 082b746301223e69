// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/choices.h"

#include <numeric>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives/sample.h"

namespace loopsmith::tune {

ExprRV sample(Schedule& schedule, Candidates candidates) {
  const std::size_t count = candidates.size();
  std::vector<double> chances(count, 1.0 / static_cast<double>(count));
  return sample_categorical(schedule, std::move(candidates), std::move(chances));
}

std::int64_t choose(Schedule& schedule, Candidates candidates) {
  return schedule.get(sample(schedule, std::move(candidates)));
}

std::int64_t choose_below(Schedule& schedule, std::int64_t count) {
  Candidates all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return choose(schedule, std::move(all));
}

bool happens(Schedule& schedule, std::int64_t in, std::int64_t of) {
  Candidates all(static_cast<std::size_t>(of), 0);
  std::fill_n(all.end() - in, in, 1);
  return choose(schedule, std::move(all)) == 1;
}

ExprRV sample_factor(Schedule& schedule, std::span<const std::int64_t> candidates,
                     std::optional<std::int64_t> extent) {
  Candidates kept;
  for (const std::int64_t candidate : candidates) {
    const bool is_whole = extent && candidate >= *extent;
    kept.push_back(is_whole ? *extent : candidate);
    if (is_whole) break;
  }
  return sample(schedule, std::move(kept));
}

std::optional<std::int64_t> parts_of(std::optional<std::int64_t> extent, std::int64_t factor) {
  if (!extent) return {};
  return (*extent + factor - 1) / factor;
}

std::optional<std::int64_t> constant_extent(const Schedule& schedule, LoopRV loop) {
  const std::int64_t* extent = as_int(schedule.get(loop).extent);
  return extent ? std::optional(*extent) : std::nullopt;
}

}  // namespace loopsmith::tune
