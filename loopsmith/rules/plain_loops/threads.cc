// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/threads.h"

#include <algorithm>
#include <cmath>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/rules/plain_loops/histograms.h"
#include "loopsmith/rules/plain_loops/index_sets.h"
#include "loopsmith/rules/plain_loops/iteration_cost.h"
#include "loopsmith/rules/plain_loops/recurrences.h"
#include "loopsmith/schedule/queries/iteration_costs.h"

namespace loopsmith::plain_loops {
namespace {

/// The cycles of one execution of a loop, about.
double work_of(const Schedule& schedule, LoopRV loop, const Machine& machine) {
  const std::vector<const For*> around = nest_around(schedule, loop);
  double cycles = 0;
  for (Statement each : statements_in(schedule.statement(schedule.node(loop)))) {
    const auto lanes = std::ranges::find(each.loops, ForKind::vectorized, &For::kind);
    const bool has_lanes = lanes != each.loops.end();
    const IterationCost cost =
        iteration_cost(each, has_lanes ? **lanes : *each.loops.back(), machine);
    const double count = executions(each.loops, around, machine);
    cycles += count * (has_lanes ? cost.vector : cost.best());
  }
  return cycles;
}

bool has_enough_work(const Schedule& schedule, LoopRV loop, const Machine& machine) {
  return work_of(schedule, loop, machine) >= machine.least_cycles_for_threads();
}

/// Chunks for each thread: one that is done early takes those of others.
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

/// True when parts of the loop with equal work, which may share an iteration, run in threads then.
bool parallelize_equal_parts(Steps& steps, LoopRV loop) {
  Steps::Snapshot as_it_was = steps.snapshot();
  bool is_done = false, is_parallel = true;
  for (const LoopRV nest : steps.distribute(loop)) {
    is_parallel = is_parallel && parallelize_in_order(steps, nest);
    is_done = is_done || (!steps.inside(nest).empty() && steps.inspect_split(nest, true));
  }
  if (is_done && is_parallel) return true;
  steps.restore(std::move(as_it_was));
  return parallelize_in_order(steps, loop) &&
         (steps.inspect_split(loop, true) || steps.inspect_split(loop, false));
}

/// `parallelize_in_order`; where a loop over rows of a sparse matrix finds some much longer than
/// others, in parts of equal work.
bool parallelize_rows(Steps& steps, LoopRV loop) {
  Steps::Snapshot as_it_was = steps.snapshot();
  const std::vector<LoopRV> versions = steps.version_loop({loop}, {1}, /*uneven=*/true);
  if (!versions.empty() && parallelize_equal_parts(steps, versions[0]) &&
      parallelize_in_order(steps, versions[1])) {
    return true;
  }
  steps.restore(std::move(as_it_was));
  return parallelize_in_order(steps, loop);
}

/// True when a loop of the nest runs in threads then.
bool parallelize_loops(Steps& steps, LoopRV loop, const Machine& machine) {
  if (steps.get(loop).kind != ForKind::serial) return false;
  if (!has_enough_work(steps.schedule(), loop, machine)) return false;
  const double trips = trip_count(steps.get(loop), nest_around(steps.schedule(), loop), machine);
  if (would_update_atomically(steps.schedule(), loop)) {
    if (count_in_copies(steps, loop, machine)) return true;
  } else if (trips >= 2 && take_without_last(steps, loop, parallelize_rows)) {
    return true;
  }
  const auto parallelize_part = [&](LoopRV part) {
    return has_enough_work(steps.schedule(), part, machine) && parallelize_in_order(steps, part);
  };
  if (take_parts(steps, loop, parallelize_part)) return true;
  bool any = false;
  for (const LoopRV inner : steps.inside(loop)) {
    any = parallelize_loops(steps, inner, machine) || any;
  }
  return any;
}

}  // namespace

LeastSizes least_sizes_for_threads(const Steps& steps, LoopRV nest, const Machine& machine) {
  const std::vector<LoopRV> band = band_of(steps.schedule(), nest);
  std::vector<LoopRV> open;
  for (const LoopRV loop : band) {
    if (!as_int(steps.get(loop).extent)) open.push_back(loop);
  }
  if (machine.cores < 2 || open.empty()) return {};
  if (open.size() == 2 && band.size() == 2) return {open, least_sizes_of_sweep()};
  if (open != std::vector{nest}) return {};
  // What there is to do grows with the size.
  const double an_iteration = work_of(steps.schedule(), nest, machine) / machine.unknown_size;
  const auto least = [&](double cycles) {
    const double count = least_cycles_of_recurrence(machine) / std::max(cycles, 0.1);
    return static_cast<std::int64_t>(std::ceil(count));
  };
  // Of rows in memory, the numbers say what there is to do.
  const For& rows = steps.get(nest);
  for (const LoopRV inner : steps.inside(nest)) {
    const For& row = steps.get(inner);
    if (!reads_memory(row.extent) || !sum_of_extents(row.extent, rows).defined()) continue;
    return {{nest, inner}, {2, least(an_iteration / trip_count(row, {&rows}, machine))}};
  }
  const auto copies = least_iterations_for_copies(steps.schedule(), nest, machine);
  return {open, {std::max(least(an_iteration), copies)}};
}

LoopRV chunk_for_threads(Steps& steps, LoopRV loop, const Machine& machine) {
  const bool is_alone = nest_around(steps.schedule(), loop).empty();
  if (machine.cores < 2 || !is_alone || accumulates(steps, loop)) return loop;
  if (work_of(steps.schedule(), loop, machine) < 2 * machine.least_cycles_for_threads())
    return loop;
  const double chunk =
      trip_count(steps.get(loop), {}, machine) / (chunks_per_thread * machine.cores);
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
