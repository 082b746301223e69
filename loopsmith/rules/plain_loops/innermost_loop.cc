// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/innermost_loop.h"

#include <algorithm>

#include "loopsmith/rules/plain_loops/iteration_cost.h"

namespace loopsmith::plain_loops {
namespace {

/// What it takes to enter a loop and to leave it.
constexpr double loop_start = 6;

}  // namespace

double cost_with_innermost(const Statement& statement, std::size_t innermost,
                           const Machine& machine) {
  std::vector<const For*> around = statement.loops;
  around.erase(around.begin() + static_cast<std::ptrdiff_t>(innermost));
  const For& loop = *statement.loops[innermost];
  const double trips = std::max(trip_count(loop, around), 1.0);
  const IterationCost cost = iteration_cost(statement, loop, machine);
  const bool fills_lanes = trips >= lanes_of(statement, machine);
  return (fills_lanes ? cost.best() : cost.scalar) + loop_start / trips;
}

std::size_t best_innermost(const Statement& statement, std::size_t first, const Machine& machine) {
  std::size_t best = statement.loops.size() - 1;
  double least = required_gain * cost_with_innermost(statement, best, machine);
  for (std::size_t i = first; i + 1 < statement.loops.size(); ++i) {
    const double cost = cost_with_innermost(statement, i, machine);
    if (cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

}  // namespace loopsmith::plain_loops
