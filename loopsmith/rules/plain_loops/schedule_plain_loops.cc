// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/schedule_plain_loops.h"

#include <algorithm>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/interleaved_rows.h"
#include "loopsmith/rules/plain_loops/joined_sums.h"
#include "loopsmith/rules/plain_loops/lanes.h"
#include "loopsmith/rules/plain_loops/loop_order.h"
#include "loopsmith/rules/plain_loops/outer_lanes.h"
#include "loopsmith/rules/plain_loops/product_sums.h"
#include "loopsmith/rules/plain_loops/register_tile.h"
#include "loopsmith/rules/plain_loops/steps.h"
#include "loopsmith/rules/plain_loops/threads.h"

namespace loopsmith {
namespace plain_loops {
namespace {

/// The nests that a nest of the function has become: itself, and those that were cut off it.
std::vector<LoopRV> parts_of(const Steps& steps, LoopRV nest, const std::vector<LoopRV>& before) {
  std::vector<LoopRV> parts = steps.outermost();
  std::erase_if(parts, [&](LoopRV loop) {
    return loop != nest && std::ranges::find(before, loop) != before.end();
  });
  return parts;
}

/// What of a nest has moved.
struct Moved {
  bool loops = false, tiles = false;
};

/// Gives the statements of a nest, and then its loops, the order with the best strides, and
/// products tiles.
Moved move_loops(Steps& steps, LoopRV nest, const Machine& machine) {
  const std::vector<LoopRV> before = steps.outermost();
  isolate_statements(steps, nest, machine);
  Moved moved;
  for (const LoopRV part : parts_of(steps, nest, before)) {
    moved.loops = reorder_bands(steps, part, machine) || moved.loops;
  }
  for (const LoopRV part : parts_of(steps, nest, before)) {
    moved.tiles = tile_products(steps, part, machine) || moved.tiles;
  }
  return moved;
}

/// Moves the loops of a nest; where variables are sums of products, as if these were elements, if
/// that gives tiles. The nest stays as it is where nothing moves in the end.
void improve_order(Steps& steps, LoopRV nest, const Machine& machine) {
  Steps::Snapshot as_written = steps.snapshot();
  if (expand_product_sums(steps, nest, machine)) {
    if (move_loops(steps, nest, machine).tiles) return;
    steps.restore(std::move(as_written));
    as_written = steps.snapshot();
  }
  const Moved moved = move_loops(steps, nest, machine);
  if (!moved.loops && !moved.tiles) steps.restore(std::move(as_written));
}

/// Puts the values of integer variables that the loops tell in their place.
void substitute_counters(Steps& steps, LoopRV nest) {
  const Schedule& schedule = steps.schedule();
  std::vector<Ptr<Buffer>> counters;
  pre_order_visit(schedule.statement(schedule.node(nest)), [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    if (load && has_one_element(*load->buffer) && load->dtype.is_index() &&
        std::ranges::none_of(counters,
                             [&](const auto& each) { return each.same_as(load->buffer); })) {
      counters.push_back(load->buffer);
    }
    return true;
  });
  for (const Ptr<Buffer>& counter : counters) steps.substitute_scalar(counter, nest);
}

bool runs_in_threads(const Steps& steps, const std::vector<LoopRV>& nests) {
  bool found = false;
  for (const LoopRV nest : nests) {
    const Schedule& schedule = steps.schedule();
    pre_order_visit(schedule.statement(schedule.node(nest)), [&](const Ref& ref) {
      const auto* loop = ref.as<For>();
      found = found || (loop && loop->kind == ForKind::parallel);
      return !found && !is_expr(*ref.get());
    });
  }
  return found;
}

/// Vectors and threads for a nest. True when some of it runs in threads then.
bool improve_kinds(Steps& steps, LoopRV nest, const Machine& machine) {
  const std::vector<LoopRV> before = steps.outermost();
  for (const auto& improve : {join_sums, vectorize_outer, vectorize_innermost, interleave_rows,
                              parallelize, interleave_sweeps}) {
    for (const LoopRV part : parts_of(steps, nest, before)) improve(steps, part, machine);
  }
  return runs_in_threads(steps, parts_of(steps, nest, before));
}

/// The same of a nest whose sizes may be known at run time only: where it has too little to do at
/// guessed ones, it gets another version for those at which it has enough.
void improve_versions(Steps& steps, LoopRV nest, const Machine& machine) {
  const LeastSizes sizes = least_sizes_for_threads(steps, nest, machine);
  Steps::Snapshot as_written = steps.snapshot();
  if (improve_kinds(steps, nest, machine) || sizes.loops.empty()) return;
  Steps::Snapshot without = steps.snapshot();
  steps.restore(std::move(as_written));
  const std::vector<LoopRV> versions = steps.version_loop(sizes.loops, sizes.least);
  Machine large = machine;
  large.unknown_size = static_cast<double>(std::ranges::max(sizes.least));
  large.asks_sizes = true;
  if (versions.empty() || !improve_kinds(steps, versions[0], large)) {
    steps.restore(std::move(without));
    return;
  }
  improve_kinds(steps, versions[1], machine);
}

}  // namespace
}  // namespace plain_loops

bool schedule_plain_nest(Schedule& schedule, LoopRV nest, const plain_loops::Machine& machine) {
  using namespace plain_loops;
  const auto is_gone = [&] { return schedule.node(nest) == no_node; };
  if (is_gone() || !is_plain(schedule, nest)) return false;
  const Stmt written = schedule.func()->body;
  Steps steps(schedule);
  const std::vector<LoopRV> before = steps.outermost();
  substitute_counters(steps, nest);
  if (is_gone()) return true;  // It counted, and nothing else.
  improve_order(steps, nest, machine);
  for (const LoopRV part : parts_of(steps, nest, before)) {
    improve_versions(steps, part, machine);
  }
  return !schedule.func()->body.same_as(written);
}

bool schedule_plain_loops(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (!subject.loop || !subject.nests.empty()) return false;
  return schedule_plain_nest(schedule, *subject.loop, {context.machine});
}

}  // namespace loopsmith
