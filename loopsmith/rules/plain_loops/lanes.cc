// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/lanes.h"

#include <algorithm>
#include <bit>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/rules/plain_loops/carried_values.h"
#include "loopsmith/rules/plain_loops/index_sets.h"
#include "loopsmith/rules/plain_loops/iteration_cost.h"
#include "loopsmith/rules/plain_loops/threads.h"

namespace loopsmith::plain_loops {
namespace {

/// Vectors must be that much better.
constexpr double max_share_of_scalar = 0.9;
/// Sums that take turns, so that an addition need not wait for the one before.
constexpr int chains = 4;

struct Gain {
  double scalar = 0, vector = 0;
  int lanes = 1;
  bool accumulates = false;  ///< Some statement updates one element in all iterations.
};

Gain gain_of(const Steps& steps, LoopRV loop, const Machine& machine) {
  Gain gain;
  const For& node = steps.get(loop);
  for (const Statement& each : statements_in(node.body)) {
    const IterationCost cost = iteration_cost(each, node, machine);
    gain.scalar += cost.scalar;
    gain.vector += cost.vector;
    gain.lanes = std::max(gain.lanes, lanes_of(each, machine));
    gain.accumulates =
        gain.accumulates || motion_of(each.references[0], node).kind == Motion::Kind::none;
  }
  return gain;
}

/// Whether the loop is in vectors now.
bool vectorize_loop(Steps& steps, LoopRV loop, const Machine& machine) {
  const Gain gain = gain_of(steps, loop, machine);
  const For& node = steps.get(loop);
  const double trips = trip_count(node, nest_around(steps.schedule(), loop), machine);
  // Of lengths in memory, as of rows of a sparse matrix, many are less than the guess.
  const double least = reads_memory(node.extent) ? 2.0 * gain.lanes : gain.lanes;
  if (gain.vector > max_share_of_scalar * gain.scalar || trips < least) return false;
  if (gain.accumulates && trips >= 2.0 * chains * gain.lanes) {
    Steps::Snapshot before = steps.snapshot();
    const std::vector<LoopRV> parts = steps.split(loop, {infer, gain.lanes * chains});
    if (!parts.empty() && steps.vectorize(parts.back())) return true;
    steps.restore(std::move(before));
  }
  return take_without_last(steps, loop,
                           [](Steps& taken, LoopRV each) { return taken.vectorize(each); });
}

/// Runs a loop in shorter vectors, as long as an iteration does not need what the same vector
/// makes: b[i] = b[i - 4] + a[i] in vectors of 4.
bool vectorize_recurrence(Steps& steps, LoopRV loop, const Machine& machine) {
  const Gain gain = gain_of(steps, loop, machine);
  const int distance = distance_of_reuse(steps.get(loop), 2, 2 * gain.lanes);
  if (distance == 0) return false;
  const int width =
      std::min(static_cast<int>(std::bit_floor(static_cast<unsigned>(distance))), gain.lanes);
  if (gain.vector * gain.lanes / width > max_share_of_scalar * gain.scalar) return false;
  Steps::Snapshot before = steps.snapshot();
  const std::vector<LoopRV> parts = steps.split(loop, {infer, width});
  if (!parts.empty() && steps.vectorize(parts.back())) return true;
  steps.restore(std::move(before));
  return false;
}

/// The same of loops that find which iteration leaves its values, where it leaves those of one.
bool vectorize_search(Steps& steps, LoopRV loop, const Machine& machine) {
  Steps::Snapshot before = steps.snapshot();
  bool any = false;
  for (const LoopRV part : steps.store_last(loop)) {
    any = vectorize_loop(steps, part, machine) || any;
  }
  if (!any) steps.restore(std::move(before));
  return any;
}

/// Gives statements loops of their own, as far as some of these run in vectors then.
void vectorize_parts(Steps& steps, LoopRV loop, const Machine& machine) {
  if (gain_of(steps, loop, machine).lanes == 1) return;
  Steps::Snapshot before = steps.snapshot();
  bool any = false;
  for (const LoopRV part : steps.distribute(loop)) {
    any = vectorize_search(steps, part, machine) || vectorize_loop(steps, part, machine) || any;
  }
  if (!any) steps.restore(std::move(before));
}

}  // namespace

void vectorize_innermost(Steps& steps, LoopRV loop, const Machine& machine) {
  if (steps.get(loop).kind == ForKind::vectorized) return;
  const std::vector<LoopRV> inside = steps.inside(loop);
  for (const LoopRV each : inside) vectorize_innermost(steps, each, machine);
  if (!inside.empty() || steps.get(loop).kind != ForKind::serial) return;
  if (vectorize_search(steps, loop, machine)) return;
  Steps::Snapshot before = steps.snapshot();
  const LoopRV chunk = chunk_for_threads(steps, loop, machine);
  if (vectorize_loop(steps, chunk, machine)) return;
  if (chunk != loop) steps.restore(std::move(before));
  if (vectorize_recurrence(steps, loop, machine)) return;
  const auto vectorize_part = [&](LoopRV part) { return vectorize_loop(steps, part, machine); };
  if (take_parts(steps, loop, vectorize_part)) return;
  vectorize_parts(steps, loop, machine);
}

}  // namespace loopsmith::plain_loops
