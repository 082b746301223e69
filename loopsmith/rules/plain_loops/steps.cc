// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/steps.h"

#include <algorithm>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::plain_loops {

void Steps::know(const std::vector<LoopRV>& loops) {
  known_.insert(loops.begin(), loops.end());
}

void Steps::look_up(LoopRV loop) {
  if (known_.contains(loop)) return;
  const NodeId node = schedule_.node(loop);
  const std::uint32_t function = schedule_.function_of(node);
  const std::string name(schedule_.name(loop));
  if (schedule_.loops_named(function, name).size() == 1) {
    get_loop(schedule_, name);
    known_.insert(loop);
    return;
  }
  NodeId around = schedule_.at(node).parent;
  while (around != no_node && !schedule_.as<For>(around)) around = schedule_.at(around).parent;
  if (around == no_node) {
    know(get_child_loops(schedule_));
  } else {
    const LoopRV parent = schedule_.loop_at(around);
    look_up(parent);
    know(get_child_loops(schedule_, BlockOrLoop(parent)));
  }
}

std::vector<LoopRV> Steps::distribute(LoopRV loop) {
  look_up(loop);
  const auto parts = loopsmith::distribute.attempt(schedule_, loop);
  if (!parts) return {};
  know(*parts);
  return *parts;
}

bool Steps::reorder(const std::vector<LoopRV>& loops) {
  for (const LoopRV loop : loops) look_up(loop);
  return loopsmith::reorder.attempt(schedule_, loops).has_value();
}

std::vector<LoopRV> Steps::split(LoopRV loop, const std::vector<SplitFactor>& factors) {
  look_up(loop);
  const auto parts = loopsmith::split.attempt(schedule_, loop, factors);
  if (!parts) return {};
  know(*parts);
  return *parts;
}

bool Steps::expand_scalar(const Ptr<Buffer>& buffer, LoopRV loop) {
  look_up(loop);
  return loopsmith::expand_scalar.attempt(schedule_, buffer->name, loop).has_value();
}

bool Steps::substitute_scalar(const Ptr<Buffer>& buffer, LoopRV loop) {
  look_up(loop);
  return loopsmith::substitute_scalar.attempt(schedule_, buffer->name, loop).has_value();
}

std::vector<LoopRV> Steps::store_last(LoopRV loop) {
  look_up(loop);
  const auto loops = loopsmith::store_last.attempt(schedule_, loop);
  if (!loops) return {};
  know(*loops);
  return *loops;
}

bool Steps::vectorize(LoopRV loop) {
  look_up(loop);
  return loopsmith::vectorize.attempt(schedule_, loop).has_value();
}

bool Steps::unroll(LoopRV loop) {
  look_up(loop);
  return loopsmith::unroll.attempt(schedule_, loop).has_value();
}

bool Steps::parallel(LoopRV loop) {
  look_up(loop);
  return loopsmith::parallel.attempt(schedule_, loop).has_value();
}

bool Steps::parallel_scan(LoopRV loop) {
  look_up(loop);
  return loopsmith::parallel_scan.attempt(schedule_, loop).has_value();
}

bool Steps::skew(LoopRV outer, LoopRV inner, std::int64_t factor) {
  for (const LoopRV loop : {outer, inner}) look_up(loop);
  return loopsmith::skew.attempt(schedule_, outer, inner, factor).has_value();
}

bool Steps::peel(LoopRV loop, std::int64_t first, std::int64_t last) {
  look_up(loop);
  return loopsmith::peel.attempt(schedule_, loop, first, last).has_value();
}

std::vector<LoopRV> Steps::cut(LoopRV loop, const LoopValue& at) {
  look_up(loop);
  if (const auto* around = std::get_if<LoopRV>(&at.value)) look_up(*around);
  const PeelArguments arguments{.loop = loop, .at = at};
  if (!loopsmith::peel.can_apply(schedule_, arguments)) return {};
  const auto parts = loopsmith::peel.apply(schedule_, arguments);
  know(parts);
  return parts;
}

bool Steps::inspect_split(LoopRV loop, bool cut_iterations) {
  look_up(loop);
  const auto parts = loopsmith::inspect_split.attempt(
      schedule_, loop, InspectSplitArguments().parts, cut_iterations);
  if (parts) know(*parts);
  return parts.has_value();
}

std::vector<std::vector<LoopRV>> Steps::privatize(LoopRV loop) {
  look_up(loop);
  const auto blocks = loopsmith::privatize.attempt(schedule_, loop);
  std::vector<std::vector<LoopRV>> merges;
  for (std::size_t i = 1; blocks && i < blocks->size(); i += 2) {
    merges.push_back(get_loops(schedule_, (*blocks)[i]));
    know(merges.back());
  }
  return merges;
}

std::vector<LoopRV> Steps::version_loop(const std::vector<LoopRV>& loops,
                                        const std::vector<std::int64_t>& least, bool uneven) {
  for (const LoopRV loop : loops) look_up(loop);
  const auto versions = loopsmith::version_loop.attempt(schedule_, loops, least, uneven);
  if (!versions) return {};
  know(*versions);
  return *versions;
}

bool Steps::bind(LoopRV loop, const std::string& axis) {
  look_up(loop);
  return loopsmith::bind.attempt(schedule_, loop, axis).has_value();
}

std::optional<LoopRV> Steps::fuse(const std::vector<LoopRV>& loops) {
  for (const LoopRV loop : loops) look_up(loop);
  if (loops.size() == 1) return loops[0];
  const auto fused = loopsmith::fuse.attempt(schedule_, loops);
  if (fused) known_.insert(*fused);
  return fused;
}

std::optional<LoopRV> Steps::add_unit_loop(LoopRV loop) {
  look_up(loop);
  const auto once = loopsmith::add_unit_loop.attempt(schedule_, loop);
  if (once) known_.insert(*once);
  return once;
}

std::vector<LoopRV> Steps::outermost() const {
  const auto function = schedule_.function_named();
  NodeId scope = schedule_.root(*function);
  const NodeId first = schedule_.at(scope).first_child;
  const auto* root = first == no_node ? nullptr : schedule_.as<BlockRealize>(first);
  if (root && root->block->iter_vars.empty()) scope = first;
  return child_loops(schedule_, scope);
}

std::vector<LoopRV> Steps::inside(LoopRV loop) const {
  return child_loops(schedule_, schedule_.node(loop));
}

void Steps::restore(Snapshot&& snapshot) {
  schedule_ = std::move(snapshot.schedule);
  known_ = std::move(snapshot.known);
}

namespace {

/// True when an iteration stores a variable.
bool stores_variables(const For& loop) {
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    found = found || (store && has_one_element(*store->buffer));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// True of a block that is no more than its body: indices in it are those of the loops.
bool is_name_alone(const Block& block) {
  return block.iter_vars.empty() && !block.init && block.alloc_buffers.empty() &&
         block.match_buffers.empty() && block.annotations.empty();
}

}  // namespace

bool take_without_last(Steps& steps, LoopRV loop, bool (*take)(Steps&, LoopRV)) {
  if (take(steps, loop)) return true;
  if (!stores_variables(steps.get(loop))) return false;
  Steps::Snapshot before = steps.snapshot();
  if (steps.peel(loop, 0, 1) && take(steps, loop)) return true;
  steps.restore(std::move(before));
  return false;
}

bool is_plain(const Schedule& schedule, LoopRV loop) {
  bool is_plain = true;
  pre_order_visit(schedule.statement(schedule.node(loop)), [&](const Ref& node) {
    const auto* inside = node.as<For>();
    const auto* block = node.as<Block>();
    is_plain = is_plain && (!block || is_name_alone(*block)) &&
               (!inside || (inside->kind == ForKind::serial && inside->annotations.empty()));
    return is_plain && !is_expr(*node.get());
  });
  return is_plain;
}

std::vector<LoopRV> band_of(const Schedule& schedule, LoopRV outermost) {
  std::vector<LoopRV> band{outermost};
  while (const auto* inner = schedule.get(band.back()).body.as<For>()) {
    const NodeId node = schedule.at(schedule.node(band.back())).first_child;
    check(node != no_node && schedule.as<For>(node) == inner, "plain_loops", "a loop has no node");
    band.push_back(schedule.loop_at(node));
  }
  return band;
}

std::vector<const For*> nest_around(const Schedule& schedule, LoopRV loop) {
  std::vector<const For*> loops;
  for (const LoopRV each : loopsmith::loops_around(schedule, schedule.node(loop))) {
    loops.push_back(&schedule.get(each));
  }
  return loops;
}

}  // namespace loopsmith::plain_loops
