// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/plain_loop_space.h"

#include <algorithm>

#include "loopsmith/schedule/primitives/distribute.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/normalize_nest.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/skew.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {
namespace {

using Loops = std::vector<LoopRV>;

constexpr std::size_t max_parts = 8;

bool make_parallel(Schedule& schedule, LoopRV loop) {
  return parallel.attempt(schedule, loop).has_value();
}

void make_vectors(Schedule& schedule, LoopRV loop) {
  Candidates candidates{0};
  candidates.insert(candidates.end(), std::begin(lane_counts), std::end(lane_counts));
  const ExprRV lanes = sample(schedule, std::move(candidates));
  if (schedule.get(lanes) == 0) return;
  const auto parts = split.attempt(schedule, loop, {infer, lanes});
  if (parts) vectorize.attempt(schedule, (*parts)[1]);
}

bool serial(Schedule&, LoopRV) {
  return false;
}

bool parallel_chunks(Schedule& schedule, LoopRV loop) {
  const ExprRV chunk = sample(schedule, {4, 16, 64, 256, 1024});
  const auto parts = split.attempt(schedule, loop, {infer, chunk});
  if (!parts) return false;
  const bool is_parallel = make_parallel(schedule, (*parts)[0]);
  if (get_child_loops(schedule, (*parts)[1]).empty()) make_vectors(schedule, (*parts)[1]);
  return is_parallel;
}

bool scan(Schedule& schedule, LoopRV loop) {
  const std::int64_t length = choose(schedule, {512, 1024, 2048, 4096, 8192, 16384, 65536});
  return parallel_scan.attempt(schedule, loop, length).has_value();
}

/// Lets diagonals follow each other, and the iterations of one run at once.
bool wavefront(Schedule& schedule, LoopRV loop) {
  const Handles<LoopRV> inner = get_child_loops(schedule, loop);
  if (inner.size() != 1) return false;
  skew.attempt(schedule, loop, inner[0]);
  reorder.attempt(schedule, {inner[0], loop});
  return make_parallel(schedule, loop);
}

bool interchanged(Schedule& schedule, LoopRV loop) {
  const Handles<LoopRV> inner = get_child_loops(schedule, loop);
  if (inner.size() != 1) return false;
  reorder.attempt(schedule, {inner[0], loop});
  return make_parallel(schedule, inner[0]);
}

using Strategy = bool (*)(Schedule&, LoopRV);
constexpr Strategy strategies[] = {serial, make_parallel, parallel_chunks,
                                   scan,   wavefront,     interchanged};

/// The loop, or what it is made into first.
Loops parts_of_loop(Schedule& schedule, LoopRV loop) {
  Loops parts{loop};
  const std::int64_t way = choose(schedule, {0, 0, 1, 2});
  if (way == 1) {
    const auto apart = distribute.attempt(schedule, loop);
    if (apart && !apart->empty()) parts = *apart;
  } else if (way == 2) {
    normalize_nest.attempt(schedule, loop);
    if (schedule.refuse(loop)) parts = get_child_loops(schedule);
  }
  parts.resize(std::min(parts.size(), max_parts));
  return parts;
}

void vectorize_inside(Schedule& schedule, LoopRV loop) {
  const auto inner = get_child_loops.attempt(schedule, loop);
  if (!inner) return;
  for (const LoopRV each : *inner) {
    if (get_child_loops(schedule, each).empty()) {
      make_vectors(schedule, each);
    } else {
      vectorize_inside(schedule, each);
    }
  }
}

}  // namespace

void plain_loop_space(Schedule& schedule, LoopRV loop) {
  for (const LoopRV part : parts_of_loop(schedule, loop)) {
    const auto number = static_cast<std::size_t>(choose_below(schedule, std::size(strategies)));
    if (!strategies[number](schedule, part)) {
      const auto inner = get_child_loops.attempt(schedule, part);
      for (const LoopRV each : inner.value_or(Handles<LoopRV>())) plain_loop_space(schedule, each);
    }
    vectorize_inside(schedule, part);
  }
}

}  // namespace loopsmith::tune
