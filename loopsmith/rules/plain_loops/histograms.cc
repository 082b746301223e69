// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/histograms.h"

#include <algorithm>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith::plain_loops {
namespace {

/// Lanes of the loop that adds copies up: some vectors.
constexpr std::int64_t merged_lanes = 64;

/// The elements that iterations update through computed indices, but for those of which a parallel
/// loop makes copies that pay.
std::vector<Ptr<Buffer>> shared_counts(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  const Stmt& nest = schedule.statement(schedule.node(handle));
  std::vector<Ptr<Buffer>> counts;
  for (const Statement& each : statements_in(loop.body)) {
    const Reference& stored = each.references[0];
    const auto is_it = [&](const auto& other) { return other.same_as(stored.buffer); };
    if (!each.is_accumulation || motion_of(stored, loop).kind != Motion::Kind::irregular ||
        std::ranges::any_of(counts, is_it)) {
      continue;
    }
    const auto found = accumulators_of(loop, {&stored.buffer, 1}, nest);
    if (found && !copies_pay(loop, *found)) counts.push_back(stored.buffer);
  }
  return counts;
}

/// `privatize`, but for sums that would be rounded otherwise.
std::vector<std::vector<LoopRV>> privatize_in_order(Steps& steps, LoopRV loop) {
  const bool allowed = steps.schedule().allows_reassociation();
  steps.allow_reassociation(false);
  auto merges = steps.privatize(loop);
  steps.allow_reassociation(allowed);
  return merges;
}

/// Adds copies up in vectors, and in threads.
void merge_in_vectors(Steps& steps, const std::vector<LoopRV>& loops) {
  const LoopRV copies = loops.back(), elements = loops[loops.size() - 2];
  const auto lanes = steps.split(elements, {infer, merged_lanes});
  if (lanes.empty() || !steps.reorder({copies, lanes[1]})) return;
  steps.vectorize(lanes[1]);
  steps.parallel(loops.size() > 2 ? loops[0] : lanes[0]);
}

}  // namespace

bool would_update_atomically(const Schedule& schedule, LoopRV loop) {
  return !shared_counts(schedule, loop).empty();
}

std::int64_t least_iterations_for_copies(const Schedule& schedule, LoopRV loop,
                                         const Machine& machine) {
  std::int64_t least = 0;
  for (const Ptr<Buffer>& counts : shared_counts(schedule, loop)) {
    const Expr elements = element_count(*counts);
    const std::int64_t* number = as_int(elements);
    const std::int64_t bytes = counts->dtype.bits / 8;
    if (!number || *number > machine.cache_bytes / (machine.cores * bytes)) return 0;
    least = std::max(least, *number * machine.cores);
  }
  return least;
}

bool count_in_copies(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::int64_t least = least_iterations_for_copies(steps.schedule(), loop, machine);
  const double trips = trip_count(steps.get(loop), nest_around(steps.schedule(), loop), machine);
  if (least == 0 || trips < static_cast<double>(least)) return false;
  Steps::Snapshot as_it_was = steps.snapshot();
  const auto parts = steps.split(loop, {machine.cores, infer});
  const auto merges =
      parts.empty() ? std::vector<std::vector<LoopRV>>() : privatize_in_order(steps, parts[0]);
  const bool is_done = !merges.empty() && steps.parallel(parts[0]);
  if (!is_done) steps.restore(std::move(as_it_was));
  for (const auto& loops : merges) {
    if (is_done) merge_in_vectors(steps, loops);
  }
  return is_done;
}

}  // namespace loopsmith::plain_loops
