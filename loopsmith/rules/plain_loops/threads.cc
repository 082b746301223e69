// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/threads.h"

#include <algorithm>

#include "loopsmith/rules/plain_loops/iteration_cost.h"

namespace loopsmith::plain_loops {
namespace {

/// The cycles of one execution of a loop, about.
double work_of(const Schedule& schedule, LoopRV loop, const CpuModel& machine) {
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

}  // namespace

void parallelize(Steps& steps, LoopRV loop, const CpuModel& machine) {
  if (machine.cores < 2 || steps.get(loop).kind != ForKind::serial) return;
  if (work_of(steps.schedule(), loop, machine) < machine.thread_start_cycles) return;
  const double trips = trip_count(steps.get(loop), nest_around(steps.schedule(), loop));
  if (trips >= 2 && steps.parallel(loop)) return;
  for (const LoopRV inner : steps.inside(loop)) parallelize(steps, inner, machine);
}

}  // namespace loopsmith::plain_loops
