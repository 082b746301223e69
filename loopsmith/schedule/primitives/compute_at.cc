// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/compute_at.h"

#include <algorithm>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

namespace {

/// True when a loop around the place computes a part of what the block reads in each iteration.
bool reads_parts(const Schedule& schedule, const Block& block, LoopRV loop,
                 const ScopeAccesses& uses) {
  const auto around = loops_around(schedule, schedule.node(loop));
  const NodeId outermost = schedule.node(around.empty() ? loop : around[0]);
  return std::ranges::any_of(uses.all, [&](const BufferAccess& use) {
    return use.is_write && is_inside(schedule, use.place, outermost) &&
           std::ranges::any_of(
               block.reads, [&](const auto& region) { return region->buffer.get() == use.buffer; });
  });
}

/// The conditions of a use that are the same in all of an iteration of the loop.
std::vector<Expr> conditions_around(const Schedule& schedule, const BufferAccess& use,
                                    LoopRV loop) {
  const auto* realize = use.is_block ? schedule.as<BlockRealize>(use.place.node) : nullptr;
  if (!realize) return {};
  std::vector<Expr> conditions = arith::conjuncts(realize->predicate);
  for (const LoopRV inner : loops_around(schedule, use.place.node)) {
    if (inner == loop || !is_inside(schedule, schedule.node(inner), schedule.node(loop))) continue;
    std::erase_if(conditions, [&](const Expr& condition) {
      return uses_variable(condition, schedule.get(inner).loop_var);
    });
  }
  std::erase_if(conditions, [](const Expr& condition) { return reads_memory(condition); });
  return conditions;
}

Planned<MovePlan> plan_move(const Schedule& schedule, const ComputeAtArguments& arguments) {
  const BlockRV handle = arguments.block;
  const LoopRV loop = arguments.loop.loop;
  const NodeId node = schedule.node(handle);
  const Block& block = schedule.get(handle);
  if (auto refusal = refuse_place(schedule, handle, loop)) return *std::move(refusal);
  const ScopeAccesses uses = accesses_in_scope(schedule, scope_of(schedule, node));

  // What is read inside the loop, of each buffer that the block writes.
  std::vector<std::optional<ElementRegion>> needed(block.writes.size());
  // The conditions under which that is read.
  std::optional<std::vector<Expr>> conditions;
  std::uint32_t first = no_node;
  for (const BufferAccess& use : uses.all) {
    if (use.is_write || use.place.node == node) continue;
    const auto written = std::ranges::find_if(
        block.writes, [&](const auto& region) { return region->buffer.get() == use.buffer; });
    if (written == block.writes.end()) continue;
    if (!is_inside(schedule, use.place, schedule.node(loop))) {
      const NodeId common = common_ancestor(schedule, use.place.node, node);
      const bool is_read_again = !loops_around(schedule, common).empty();
      if (is_before(schedule, use.place, Place{node}) && !is_read_again) continue;
      return Refusal{&consumers_are_in_the_loop,
                     {name_of_place(schedule, use.place), Argument(handle), Argument(loop)}};
    }
    auto& box = needed[static_cast<std::size_t>(written - block.writes.begin())];
    // An iteration of threads around the block computes its own: what others need may not be there.
    ElementRegion more = accessed_region(schedule, use, loop, memory_scope(*use.buffer), node);
    box = box ? join(*box, more) : std::move(more);
    first = std::min(first, slot_in_loop(schedule, use.place, loop));
    const std::vector<Expr> own = conditions_around(schedule, use, loop);
    if (!conditions) conditions = own;
    std::erase_if(*conditions, [&](const Expr& condition) {
      return std::ranges::none_of(
          own, [&](const Expr& other) { return structural_equal(other, condition); });
    });
  }
  const bool is_output = is_output_block(schedule, handle);
  if (first == no_node) {
    return Refusal{is_output ? &block_is_no_output : &block_has_consumers, {Argument(handle)}};
  }
  const auto place = place_between(0, first, arguments.index, first);
  if (!place) {
    return Refusal{&index_is_possible,
                   {Argument(arguments.index), Argument(loop), Argument(std::int64_t{0}),
                    Argument(std::int64_t{first})}};
  }
  const Instances instances = instances_of(schedule, handle);
  if (!instances.unknown.empty()) {
    return Refusal{&instances_are_known, {Argument(handle), Argument(instances.unknown)}};
  }
  std::vector<arith::Interval> axes;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const auto values = axes_accessing(block, *block.writes[i], *needed[i]);
    axes = axes.empty() ? values : join(axes, values);
  }
  axes.resize(block.iter_vars.size());
  const std::vector<Expr> known = conditions.value_or(std::vector<Expr>());
  // Of an output block, what is not read in the loop is needed, too.
  RequiredInstances made = instances_within(schedule, handle, loop, axes, instances,
                                            is_output ? std::span<const Expr>() : known);
  if (reads_parts(schedule, block, loop, uses)) {
    // What no statement reads here may need what a later iteration computes.
    for (const Expr& condition : known) {
      const bool is_there = std::ranges::any_of(
          made.conditions, [&](const Expr& other) { return other.same_as(condition); });
      if (!is_there) made.conditions.push_back(condition);
    }
  }
  // Loops that memory bounds are statements of their own.
  const bool is_plain = std::ranges::none_of(made.axes, [](const AxisRange& run) {
    return (run.min.defined() && reads_memory(run.min)) ||
           (run.extent.defined() && reads_memory(run.extent));
  });
  // All that an output block writes is needed, read in the loop or not.
  const bool is_proved =
      is_plain && !is_output && moves_past_nothing(schedule, handle, loop, uses, values_of(made));
  return MovePlan{handle,
                  loop,
                  *place,
                  std::move(made),
                  arguments.preserve_unit_loops,
                  reduction_out_of_order(schedule, handle, uses),
                  {},
                  Preservation{scope_of(schedule, node), is_proved}};
}

}  // namespace

Planned<ComputeAtPlan> plan_compute_at(const Schedule& schedule,
                                       const ComputeAtArguments& arguments) {
  const auto as_plan = [](auto planned) -> Planned<ComputeAtPlan> {
    if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
    return ComputeAtPlan(std::get<0>(std::move(planned)));
  };
  if (!arguments.loop.is_mark()) return as_plan(plan_move(schedule, arguments));
  if (arguments.loop.mark() == LocationMark::root) return ComputeAtPlan(Nothing{});
  return as_plan(plan_compute_inline(schedule, {.block = arguments.block}));
}

void commit_move(Schedule& schedule, MovePlan&& plan) {
  for (const LoopExtension& extension : plan.extensions) extend(schedule, extension);
  Stmt nest = nest_of(schedule, plan.block, plan.instances, plan.preserve_unit_loops);
  schedule.move_into(plan.loop, plan.place, std::move(nest), plan.block);
}

Nothing commit_compute_at(Schedule& schedule, ComputeAtPlan&& plan) {
  if (auto* move = std::get_if<MovePlan>(&plan)) commit_move(schedule, std::move(*move));
  if (auto* inlined = std::get_if<ComputeInlinePlan>(&plan)) {
    commit_compute_inline(schedule, std::move(*inlined));
  }
  return {};
}

}  // namespace loopsmith
