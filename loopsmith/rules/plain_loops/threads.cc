// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/threads.h"

#include <algorithm>

#include "loopsmith/rules/plain_loops/iteration_cost.h"
#include "loopsmith/rules/plain_loops/recurrences.h"

namespace loopsmith::plain_loops {
namespace {

/// The cycles of one execution of a loop, about.
double work_of(const Schedule& schedule, LoopRV loop, const Machine& machine) {
  const std::vector<const For*> around = nest_around(schedule, loop);
  double cycles = 0;
  for (Statement each : statements_in(schedule.statement(schedule.node(loop)))) {
    const For& innermost = *each.loops.back();
    const IterationCost cost = iteration_cost(each, innermost, machine);
    double count = 1;
    std::vector<const For*> outside = around;
    for (const For* inside : each.loops) {
      count *= trip_count(*inside, outside);
      outside.push_back(inside);
    }
    cycles += count * (innermost.kind == ForKind::vectorized ? cost.vector : cost.best());
  }
  return cycles;
}

/// Chunks for each thread: who is done early takes those of others.
constexpr double chunks_per_thread = 4;
/// A multiple of all vectors, and of lines of the caches.
constexpr std::int64_t chunk_unit = 256;

bool accumulates(const Steps& steps, LoopRV loop) {
  const For& node = steps.get(loop);
  return std::ranges::any_of(statements_in(node.body), [&](const Statement& each) {
    return motion_of(each.references[0], node).kind == Motion::Kind::none;
  });
}

/// `parallel`, but for reductions.
bool parallelize_in_order(Steps& steps, LoopRV loop) {
  const bool allowed = steps.schedule().allows_reassociation();
  steps.allow_reassociation(false);
  const bool is_done = steps.parallel(loop);
  steps.allow_reassociation(allowed);
  return is_done;
}

/// True when a loop of the nest runs in threads then.
bool parallelize_loops(Steps& steps, LoopRV loop, const Machine& machine) {
  if (steps.get(loop).kind != ForKind::serial) return false;
  if (work_of(steps.schedule(), loop, machine) < machine.thread_start_cycles) return false;
  const double trips = trip_count(steps.get(loop), nest_around(steps.schedule(), loop));
  if (trips >= 2 && take_without_last(steps, loop, parallelize_in_order)) return true;
  bool any = false;
  for (const LoopRV inner : steps.inside(loop)) {
    any = parallelize_loops(steps, inner, machine) || any;
  }
  return any;
}

}  // namespace

LoopRV chunk_for_threads(Steps& steps, LoopRV loop, const Machine& machine) {
  const bool is_alone = nest_around(steps.schedule(), loop).empty();
  if (machine.cores < 2 || !is_alone || accumulates(steps, loop)) return loop;
  if (work_of(steps.schedule(), loop, machine) < 2 * machine.thread_start_cycles) return loop;
  const double chunk = trip_count(steps.get(loop), {}) / (chunks_per_thread * machine.cores);
  const std::int64_t units =
      std::max<std::int64_t>(static_cast<std::int64_t>(chunk) / chunk_unit, 1);
  const std::vector<LoopRV> parts = steps.split(loop, {infer, units * chunk_unit});
  return parts.empty() ? loop : parts.back();
}

void parallelize(Steps& steps, LoopRV loop, const Machine& machine) {
  if (machine.cores < 2 || parallelize_loops(steps, loop, machine)) return;
  if (steps.get(loop).kind != ForKind::serial) return;
  parallelize_recurrence(steps, loop, work_of(steps.schedule(), loop, machine), machine);
}

}  // namespace loopsmith::plain_loops
