// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/joined_sums.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/iteration_cost.h"

namespace loopsmith::plain_loops {
namespace {

constexpr std::int64_t joined_rows = 4;

bool adds_rows(const Schedule& schedule, LoopRV rows, LoopRV columns, const Machine& machine) {
  const For& outer = schedule.get(rows);
  const For& inner = schedule.get(columns);
  if (inner.kind != ForKind::serial || !inner.body.is<BufferStore>()) return false;
  // Rows of unlike lengths would give lanes loops of unlike lengths.
  if (uses_variable(inner.min, outer.loop_var) || uses_variable(inner.extent, outer.loop_var)) {
    return false;
  }
  const Statement statement = statements_in(inner.body).at(0);
  const IterationCost cost = iteration_cost(statement, inner, machine);
  const double trips = trip_count(inner, nest_around(schedule, columns), machine);
  return statement.is_accumulation && cost.vector < cost.scalar &&
         trips >= lanes_of(statement, machine) &&
         motion_of(statement.references[0], inner).kind == Motion::Kind::contiguous &&
         motion_of(statement.references[0], outer).kind == Motion::Kind::none &&
         trip_count(outer, nest_around(schedule, rows), machine) >= 2 * joined_rows;
}

}  // namespace

void join_sums(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::vector<LoopRV> band = band_of(steps.schedule(), loop);
  const std::vector<LoopRV> inside = steps.inside(band.back());
  for (const LoopRV inner : inside) join_sums(steps, inner, machine);
  if (!inside.empty() || band.size() < 2) return;
  const LoopRV rows = band[band.size() - 2], columns = band.back();
  if (!adds_rows(steps.schedule(), rows, columns, machine)) return;
  Steps::Snapshot before = steps.snapshot();
  const std::vector<LoopRV> parts = steps.split(rows, {infer, joined_rows});
  const bool is_done = !parts.empty() && steps.reorder({columns, parts.back()}) &&
                       steps.vectorize(columns) && steps.unroll(parts.back());
  if (!is_done) steps.restore(std::move(before));
}

}  // namespace loopsmith::plain_loops
