// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/loop_order.h"

#include <algorithm>

#include "loopsmith/rules/plain_loops/innermost_loop.h"
#include "loopsmith/rules/plain_loops/products.h"

namespace loopsmith::plain_loops {
namespace {

/// Places for the iterations of a loop that an expanded scalar may take.
constexpr double max_expansion = 1 << 16;

/// The statements in a loop, with all loops around them.
std::vector<Statement> statements_of(const Schedule& schedule, LoopRV loop) {
  std::vector<Statement> statements = statements_in(schedule.statement(schedule.node(loop)));
  const std::vector<const For*> around = nest_around(schedule, loop);
  for (Statement& each : statements) {
    each.loops.insert(each.loops.begin(), around.begin(), around.end());
  }
  return statements;
}

/// True when a statement in the loop is better off apart from what the loop, or the only one
/// inside, holds beside it: where a loop from number `top` of the nest on should be inside of the
/// sequence, or where tiles of a product reach beyond it.
bool wants_apart(const Schedule& schedule, LoopRV loop, std::size_t top, const Machine& machine) {
  const std::vector<LoopRV> band = band_of(schedule, loop);
  if (!schedule.get(band.back()).body.is<SeqStmt>()) return false;
  const std::size_t depth = nest_around(schedule, band.back()).size();
  return std::ranges::any_of(statements_of(schedule, loop), [&](const Statement& each) {
    if (each.loops.size() <= depth + 1) return false;
    if (best_innermost(each, top, machine) <= depth) return true;
    const auto product = product_of(each, top, machine);
    return product && product->outermost() <= depth;
  });
}

/// The buffers of blocks around that one place of serves all iterations of a loop.
std::vector<Ptr<Buffer>> reused_scalars(const Schedule& schedule, LoopRV loop) {
  std::vector<Ptr<Buffer>> local;
  for (NodeId node = schedule.node(loop); node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    const auto& buffers = realize->block->alloc_buffers;
    local.insert(local.end(), buffers.begin(), buffers.end());
  }
  std::vector<Ptr<Buffer>> found;
  for (const Statement& each : statements_in(schedule.statement(schedule.node(loop)))) {
    const Reference& stored = each.references[0];
    const auto is_it = [&](const Ptr<Buffer>& other) { return other.same_as(stored.buffer); };
    if (std::ranges::none_of(local, is_it) || std::ranges::any_of(found, is_it)) continue;
    if (motion_of(stored, schedule.get(loop)).kind == Motion::Kind::none) {
      found.push_back(stored.buffer);
    }
  }
  return found;
}

std::vector<LoopRV> distribute_with_scalars(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::vector<Ptr<Buffer>> scalars = reused_scalars(steps.schedule(), loop);
  const double trips = trip_count(steps.get(loop), nest_around(steps.schedule(), loop), machine);
  if (scalars.empty() || trips > max_expansion) return steps.distribute(loop);
  Steps::Snapshot before = steps.snapshot();
  for (const Ptr<Buffer>& scalar : scalars) steps.expand_scalar(scalar, loop);
  const std::vector<LoopRV> parts = steps.distribute(loop);
  if (!parts.empty()) return parts;
  steps.restore(std::move(before));
  return steps.distribute(loop);
}

/// Moves the best loop of a band inside of the others, or the next best that may go there.
bool reorder_band(Steps& steps, const std::vector<LoopRV>& band, const Machine& machine) {
  const Schedule& schedule = steps.schedule();
  if (band.size() < 2) return false;
  const std::vector<Statement> statements = statements_of(schedule, band.front());
  const std::size_t first = nest_around(schedule, band.front()).size();
  const std::size_t last = first + band.size() - 1;
  std::vector<std::pair<double, std::size_t>> candidates;
  const double now = cost_with_innermost(statements, last, machine);
  for (std::size_t i = first; i < last; ++i) {
    const double cost = cost_with_innermost(statements, i, machine);
    if (cost < required_gain * now) candidates.emplace_back(cost, i);
  }
  std::ranges::sort(candidates);
  for (const auto& [cost, number] : candidates) {
    std::vector<LoopRV> order(band.begin() + static_cast<std::ptrdiff_t>(number - first),
                              band.end());
    std::ranges::rotate(order, order.begin() + 1);
    if (steps.reorder(order)) return true;
  }
  return false;
}

}  // namespace

void isolate_statements(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::size_t top = nest_around(steps.schedule(), loop).size();
  const auto visit = [&](auto&& self, LoopRV at) -> void {
    for (const LoopRV inner : steps.inside(at)) self(self, inner);
    if (wants_apart(steps.schedule(), at, top, machine))
      distribute_with_scalars(steps, at, machine);
  };
  visit(visit, loop);
}

bool reorder_bands(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::vector<LoopRV> band = band_of(steps.schedule(), loop);
  const std::vector<LoopRV> inside = steps.inside(band.back());
  if (inside.empty()) return reorder_band(steps, band, machine);
  bool any = false;
  for (const LoopRV each : inside) any = reorder_bands(steps, each, machine) || any;
  return any;
}

}  // namespace loopsmith::plain_loops
