// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/shared_loops.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/analysis.h"

namespace loopsmith {

namespace {

void bind_loops(Analyzer& analyzer, const Schedule& schedule, const Handles<LoopRV>& loops) {
  for (const LoopRV each : loops) {
    const For& around = schedule.get(each);
    if (is_const_int(around.step, 1)) {
      analyzer.bind(around.loop_var, range(around.min, around.extent));
    }
  }
}

/// The values of an axis in an iteration of shared loops, before a block moves and after; null ends
/// where they are not known.
struct AxisValues {
  arith::Interval before, now;
};

/// True when `holds` does for the values of each axis, or there are no shared loops.
template <class Holds>
bool each_axis(const Schedule& schedule, BlockRV block, LoopRV loop, const NewPlace& place,
               const Holds& holds) {
  const auto shared = shared_loops(schedule, schedule.node(block), schedule.node(loop));
  if (shared.empty()) return true;
  Analyzer analyzer;
  bind_loops(analyzer, schedule, shared);
  const auto values_of_own = [&](const Handles<LoopRV>& loops) {
    arith::Intervals values;
    for (const LoopRV each : loops) {
      if (std::ranges::find(shared, each) != shared.end()) continue;
      const For& own = schedule.get(each);
      auto& range = values[own.loop_var];
      if (is_const_int(own.step, 1)) range = {own.min, own.min + own.extent - 1};
    }
    return values;
  };
  const arith::Intervals old = values_of_own(loops_around(schedule, schedule.node(block)));
  Handles<LoopRV> loops = loops_around(schedule, schedule.node(loop));
  loops.push_back(loop);
  const arith::Intervals now = values_of_own(loops);
  for (std::size_t i = 0; i < place.axes.size(); ++i) {
    const AxisRun& run = place.axes[i];
    const auto before = arith::relax(schedule.realize(block).iter_values[i], old);
    const auto first = arith::relax(run.min, now);
    const auto last = arith::relax(run.min + run.extent - 1, now);
    if (!before || !first || !last) return false;
    if (!holds(analyzer, AxisValues{*before, {first->min, last->max}})) return false;
  }
  return true;
}

bool is_within(Analyzer& analyzer, const arith::Interval& inner, const arith::Interval& outer) {
  return analyzer.can_prove(outer.min <= inner.min) && analyzer.can_prove(inner.max <= outer.max);
}

}  // namespace

Handles<LoopRV> shared_loops(const Schedule& schedule, NodeId a, NodeId b) {
  return loops_around(schedule, common_ancestor(schedule, a, b));
}

bool keeps_iterations(const Schedule& schedule, BlockRV block, LoopRV loop, const NewPlace& place) {
  return each_axis(schedule, block, loop, place, [](Analyzer& analyzer, const AxisValues& axis) {
    return is_within(analyzer, axis.now, axis.before);
  });
}

bool keeps_instances(const Schedule& schedule, BlockRV block, LoopRV loop, const NewPlace& place) {
  return each_axis(schedule, block, loop, place, [](Analyzer& analyzer, const AxisValues& axis) {
    return is_within(analyzer, axis.before, axis.now);
  });
}

bool reads_of_its_iteration(const Schedule& schedule, const BufferUse& read,
                            const BufferUse& write) {
  const auto shared = shared_loops(schedule, read.place.node, write.place.node);
  if (shared.empty()) return true;
  Analyzer analyzer;
  bind_loops(analyzer, schedule, shared);
  const ElementBox touched = box_of(schedule, read, shared.back(), "local");
  const ElementBox written = box_of(schedule, write, shared.back(), "local");
  const auto is_less_equal = [&](const Expr& a, const Expr& b) {
    return a.defined() && b.defined() && analyzer.can_prove(a <= b);
  };
  for (std::size_t d = 0; d < touched.size(); ++d) {
    if (!is_less_equal(written[d].min, touched[d].min) ||
        !is_less_equal(touched[d].max, written[d].max)) {
      return false;
    }
  }
  return true;
}

}  // namespace loopsmith
