// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/loop_extension.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// Demands of a block that it does not run from `end` of the loop on: by a condition on one of its
/// axes if that says as much, which others read more easily.
void stop_at(Schedule& schedule, BlockRV block, const For& loop, const Expr& end) {
  BlockRealize& realize = schedule.edit_realize(block);
  arith::Intervals others;
  for (const LoopRV around : loops_around(schedule, schedule.node(block))) {
    const For& other = schedule.get(around);
    if (&other == &loop || !is_const_int(other.step, 1)) continue;
    others[other.loop_var] =
        arith::Interval{other.min, other.min + other.extent - int_imm(other.min.dtype(), 1)};
  }
  Expr condition = loop.loop_var < end;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    if (!uses_variable(value, loop.loop_var)) continue;
    const Range& domain = *realize.block->iter_vars[i]->dom;
    const auto beyond = arith::relax(substitute(value, {{loop.loop_var, end}}), others);
    Analyzer analyzer;
    const Expr limit = domain.min + domain.extent;
    if (beyond && beyond->min.defined() &&
        analyzer.can_prove(beyond->min >= limit, ProofStrength::symbolic_bound)) {
      condition = value < limit;
      break;
    }
  }
  for (const Expr& part : arith::conjuncts(realize.predicate)) {
    if (structural_equal(part, condition)) return;
  }
  realize.predicate = realize.predicate && condition;
}

}  // namespace

void extend(Schedule& schedule, const LoopExtension& extension) {
  const NodeId node = schedule.node(extension.loop);
  For& loop = schedule.edit(extension.loop);
  const Expr end = loop.min + loop.extent;
  for (const BlockRV block : child_blocks(schedule, node)) stop_at(schedule, block, loop, end);
  loop.extent = loop.extent + int_imm(loop.extent.dtype(), extension.iterations);
}

}  // namespace loopsmith
