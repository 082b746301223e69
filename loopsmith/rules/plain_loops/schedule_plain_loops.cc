// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/schedule_plain_loops.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/joined_sums.h"
#include "loopsmith/rules/plain_loops/lanes.h"
#include "loopsmith/rules/plain_loops/loop_order.h"
#include "loopsmith/rules/plain_loops/register_tile.h"
#include "loopsmith/rules/plain_loops/steps.h"
#include "loopsmith/rules/plain_loops/threads.h"

namespace loopsmith {
namespace plain_loops {
namespace {

/// True when a loop has no blocks inside, and none that its user has said how to run.
bool is_plain(const Schedule& schedule, LoopRV loop) {
  bool is_plain = true;
  pre_order_visit(schedule.statement(schedule.node(loop)), [&](const Ref& node) {
    const auto* inside = node.as<For>();
    is_plain = is_plain && !node.is<BlockRealize>() &&
               (!inside || (inside->kind == ForKind::serial && inside->annotations.empty()));
    return is_plain && !is_expr(*node.get());
  });
  return is_plain;
}

/// The nests of a function that are scheduled; what a nest has become is one, too.
class Nests {
 public:
  explicit Nests(const Steps& steps) : steps_(steps) {
    for (const LoopRV loop : steps.outermost()) {
      if (!is_plain(steps.schedule(), loop)) left_alone_.insert(loop);
    }
  }

  std::vector<LoopRV> all() const {
    std::vector<LoopRV> nests = steps_.outermost();
    std::erase_if(nests, [&](LoopRV loop) { return left_alone_.contains(loop); });
    return nests;
  }

 private:
  const Steps& steps_;
  std::set<LoopRV> left_alone_;
};

/// Gives the statements of a nest, and then its loops, the order with the best strides. It stays as
/// it is where no loop moves in the end.
void improve_order(Steps& steps, LoopRV nest, const CpuModel& machine) {
  Steps::Snapshot as_written = steps.snapshot();
  const std::vector<LoopRV> before = steps.outermost();
  isolate_statements(steps, nest, machine);
  bool any = false;
  for (const LoopRV part : steps.outermost()) {
    if (part != nest && std::ranges::find(before, part) != before.end()) continue;
    any = reorder_bands(steps, part, machine) || any;
  }
  if (!any) steps.restore(std::move(as_written));
}

}  // namespace
}  // namespace plain_loops

bool schedule_plain_loops(Schedule& schedule, const CpuModel& machine) {
  using namespace plain_loops;
  Steps steps(schedule);
  const Stmt before = schedule.func()->body;
  const Nests nests(steps);
  for (const LoopRV nest : nests.all()) improve_order(steps, nest, machine);
  for (const LoopRV nest : nests.all()) tile_products(steps, nest, machine);
  for (const LoopRV nest : nests.all()) join_sums(steps, nest, machine);
  for (const LoopRV nest : nests.all()) vectorize_innermost(steps, nest, machine);
  for (const LoopRV nest : nests.all()) parallelize(steps, nest, machine);
  return !schedule.func()->body.same_as(before);
}

}  // namespace loopsmith
