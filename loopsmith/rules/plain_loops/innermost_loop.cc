// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/innermost_loop.h"

#include <algorithm>

#include "loopsmith/rules/plain_loops/iteration_cost.h"

namespace loopsmith::plain_loops {
namespace {

/// What it takes to enter a loop and to leave it.
constexpr double loop_start = 6;

}  // namespace

double cost_with_innermost(std::span<const Statement> statements, std::size_t innermost,
                           const Machine& machine) {
  double scalar = 0, vector = 0, starts = 0;
  bool has_vectors = true;
  for (const Statement& statement : statements) {
    std::vector<const For*> around = statement.loops;
    around.erase(around.begin() + static_cast<std::ptrdiff_t>(innermost));
    const For& loop = *statement.loops[innermost];
    const double trips = std::max(trip_count(loop, around, machine), 1.0);
    const IterationCost cost = iteration_cost(statement, loop, machine);
    scalar += cost.scalar;
    vector += cost.best();
    has_vectors = has_vectors && !cost.is_chain && trips >= lanes_of(statement, machine);
    starts += loop_start / trips;
  }
  return (has_vectors ? vector : scalar) + starts;
}

std::size_t best_innermost(const Statement& statement, std::size_t first, const Machine& machine) {
  std::size_t best = statement.loops.size() - 1;
  double least = required_gain * cost_with_innermost({&statement, 1}, best, machine);
  for (std::size_t i = first; i + 1 < statement.loops.size(); ++i) {
    const double cost = cost_with_innermost({&statement, 1}, i, machine);
    if (cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

}  // namespace loopsmith::plain_loops
