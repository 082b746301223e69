// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/copy_at.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"

namespace loopsmith {
namespace {

/// The buffer and the blocks that use it inside the loop.
std::variant<CopyAtPlan, Refusal> find(const Schedule& schedule, LoopRV loop, BlockRV block,
                                       const BufferSelector& selector, BufferSelector::Side side,
                                       const std::string& storage_scope) {
  auto found = cache_subject_by_index(schedule, block, selector, side, storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  CopyAtPlan plan{.subject = std::get<CacheSubject>(std::move(found)),
                  .loop = loop,
                  .storage_scope = storage_scope,
                  .is_back = side == BufferSelector::Side::write};
  const NodeId around = schedule.node(loop);
  if (!is_inside(schedule, schedule.node(block), around)) {
    return Refusal{&loop_is_around_block, {Argument(loop), Argument(block)}};
  }
  if (scope_of(schedule, around) != schedule.node(plan.subject.scope)) {
    return Refusal{&loop_is_in_scope, {Argument(block), Argument(loop)}};
  }
  for (const LoopRV each : loops_around(schedule, schedule.at(around).first_child)) {
    if (schedule.get(each).kind == ForKind::vectorized) {
      return Refusal{&loop_is_no_vector, {Argument(each)}};
    }
  }
  const auto is_outside = [&](BlockRV other) {
    return !is_inside(schedule, schedule.node(other), around);
  };
  std::erase_if(plan.subject.readers, is_outside);
  std::erase_if(plan.subject.writers, is_outside);
  return plan;
}

/// The statement of the loop's body in which the block is.
NodeId statement_of(const Schedule& schedule, BlockRV block, LoopRV loop) {
  const NodeId body = schedule.at(schedule.node(loop)).first_child;
  if (!schedule.as<SeqStmt>(body)) return body;
  return child_towards(schedule, schedule.node(block), body);
}

/// The loop around `from` that defines the variable and that a block there may not use directly;
/// none where it is another variable.
std::optional<LoopRV> loop_of(const Schedule& schedule, NodeId from, const Ptr<Var>& variable) {
  for (; from != no_node; from = schedule.at(from).parent) {
    const auto* loop = schedule.as<For>(from);
    if (loop && loop->loop_var.same_as(variable)) return schedule.loop_at(from);
    const auto* realize = schedule.as<BlockRealize>(from);
    if (realize && !realize->block->iter_vars.empty()) break;
  }
  return {};
}

std::vector<Ptr<Range>> ranges_of(const AffineRegion& box) {
  std::vector<Ptr<Range>> ranges;
  for (std::size_t i = 0; i < box.sides.size(); ++i) ranges.push_back(range_of_dimension(box, i));
  return ranges;
}

/// The domain of an axis that stands for a loop; null where that is no range of its own, or one
/// that the loop may change.
Ptr<Range> domain_of(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  const DataType type = loop.loop_var->dtype;
  if (const auto values = range_of(loop)) {
    return range(int_imm(type, values->min), int_imm(type, values->max - values->min + 1));
  }
  if (!is_const_int(loop.step, 1)) return nullptr;
  for (const Expr& bound : {loop.min, loop.extent}) {
    if (reads_memory(bound)) return nullptr;
    for (const Ptr<Var>& variable : free_variables(bound)) {
      if (loop_of(schedule, schedule.node(handle), variable)) return nullptr;
    }
  }
  return range(loop.min, loop.extent);
}

/// A loop on which the box depends, and which has no domain of its own.
std::optional<Refusal> refuse_odd_loops(const Schedule& schedule, const CopyAtPlan& plan) {
  for (const auto& side : ranges_of(plan.box)) {
    for (const Ptr<Var>& variable : free_variables(side->min)) {
      const auto loop = loop_of(schedule, schedule.node(plan.loop), variable);
      if (loop && !domain_of(schedule, *loop)) {
        return Refusal{&copied_box_is_of_plain_loops, {Argument(plan.loop), Argument(*loop)}};
      }
    }
  }
  return {};
}

/// The axes of a copy: the loops on which its box depends.
struct CopyAxes {
  std::vector<Ptr<IterVar>> axes;
  std::vector<Expr> values;
  Substitution by_loop;
};

CopyAxes axes_of(const Schedule& schedule, LoopRV at, const std::vector<Ptr<Range>>& ranges) {
  CopyAxes made;
  for (const auto& side : ranges) {
    for (const Ptr<Var>& variable : free_variables(side->min)) {
      const auto loop = loop_of(schedule, schedule.node(at), variable);
      if (!loop || made.by_loop.contains(variable)) continue;
      const Ptr<Var> axis = var(fmt::format("v{}", made.axes.size()), variable->dtype);
      made.axes.push_back(make(IterVar{.dom = domain_of(schedule, *loop), .var = axis}));
      made.values.push_back(variable);
      made.by_loop[variable] = axis;
    }
  }
  return made;
}

}  // namespace

Planned<CopyAtPlan> plan_read_at(const Schedule& schedule, const ReadAtArguments& arguments) {
  auto found = find(schedule, arguments.loop, arguments.block, arguments.read_buffer_index,
                    BufferSelector::Side::read, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  auto plan = std::get<CopyAtPlan>(std::move(found));
  const Ptr<Buffer>& buffer = plan.subject.selected.buffer;
  if (!plan.subject.writers.empty()) {
    return changed_results(loop_reads_alone, {Argument(plan.subject.writers[0]),
                                              Argument(Ref(buffer)), Argument(arguments.loop)});
  }
  plan.at = statement_of(schedule, plan.subject.readers[0], arguments.loop);
  const NodeId scope = schedule.node(plan.subject.scope);
  plan.preservation = {
      scope, is_unchanged_for(schedule, *buffer, plan.subject.readers,
                              schedule.node(arguments.loop), accesses_in_scope(schedule, scope))};
  plan.box = read_region(schedule, buffer, plan.subject.readers,
                         schedule.at(schedule.node(arguments.loop)).first_child);
  CacheSubject subject = plan.subject;
  subject.writers = writers_of(schedule, schedule.node(subject.scope), buffer);
  plan.widens_reads = !may_read(schedule, subject, plan.box);
  if (!is_written_before(schedule, subject, plan.box, {plan.at})) {
    return changed_results(copied_elements_are_written,
                           {Argument(Ref(buffer)), Argument(arguments.block)});
  }
  if (auto refusal = refuse_odd_loops(schedule, plan)) return *std::move(refusal);
  return plan;
}

Planned<CopyAtPlan> plan_write_at(const Schedule& schedule, const WriteAtArguments& arguments) {
  auto found = find(schedule, arguments.loop, arguments.block, arguments.write_buffer_index,
                    BufferSelector::Side::write, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  auto plan = std::get<CopyAtPlan>(std::move(found));
  const Argument buffer{Ref(plan.subject.selected.buffer)};
  auto box = written_region(schedule, plan.subject, schedule.node(arguments.loop));
  if (auto* refusal = std::get_if<Refusal>(&box)) return std::move(*refusal);
  plan.box = std::get<AffineRegion>(std::move(box));
  for (const BlockRV reader : plan.subject.readers) {
    if (is_filled_for(schedule, plan.subject, reader)) continue;
    const bool also_writes = std::ranges::any_of(
        plan.subject.writers, [&](BlockRV writer) { return writer.index == reader.index; });
    return changed_results(also_writes ? writer_does_not_read_first : consumer_reads_what_is_cached,
                           {Argument(reader), buffer});
  }
  for (const BlockRV writer : plan.subject.writers) {
    if (continues_reduction(schedule, plan.subject.scope, writer)) {
      return changed_results(writer_does_not_read_first, {Argument(writer), buffer});
    }
  }
  if (auto refusal = refuse_odd_loops(schedule, plan)) return *std::move(refusal);
  plan.at = statement_of(schedule, plan.subject.writers.back(), arguments.loop);
  const NodeId scope = schedule.node(plan.subject.scope);
  plan.preservation = {
      scope, plan.subject.writers.size() == 1 &&
                 is_finished_in(schedule, plan.subject.writers[0], *plan.subject.selected.buffer,
                                arguments.loop, accesses_in_scope(schedule, scope))};
  return plan;
}

BlockRV commit_copy_at(Schedule& schedule, CopyAtPlan&& plan) {
  const Ptr<Buffer>& buffer = plan.box.buffer;
  const std::uint32_t function = schedule.function_of(plan.at);
  const SpanScope span(schedule.span_from(schedule.at(plan.at).object->span));
  std::vector<Ptr<Range>> ranges = ranges_of(plan.box);
  CopyAxes axes = axes_of(schedule, plan.loop, ranges);
  for (auto& side : ranges) side = range(substitute(side->min, axes.by_loop), side->extent);

  const Ptr<Buffer> cache =
      allocate_cache(schedule, plan.subject.scope, plan.box, plan.storage_scope, false);
  AccessChange change = change_to_cache(plan.box, cache, false);
  change.writes = plan.is_back;
  if (plan.widens_reads) declare_all_used(schedule, plan.subject.scope, buffer);
  for (const auto* users : {&plan.subject.readers, &plan.subject.writers}) {
    for (const BlockRV user : *users) {
      change_accesses(schedule, uses_of(schedule, schedule.node(user), buffer), change);
    }
  }

  // The values of the nest's axes are the indices: the loops stand inside the block.
  const AxesNest nest = axes_nest(schedule, function, ranges);
  const Ptr<Buffer>& from = plan.is_back ? cache : buffer;
  const Ptr<Buffer>& to = plan.is_back ? buffer : cache;
  Stmt body = store(to, load(from, nest.values), nest.values);
  Expr guard = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Expr condition = in_bounds(plan.box, i, nest.values[i]);
    if (condition.defined()) guard = guard && condition;
  }
  if (!is_const_int(guard, 1)) {
    body = make(IfThenElse{.condition = guard, .then_case = std::move(body)});
  }
  for (std::size_t i = nest.loops.size(); i-- > 0;) {
    body = for_loop(nest.loops[i], zero_of(nest.loops[i]->dtype), nest.extents[i], std::move(body));
  }
  // The whole box: later steps know regions of constant extents best.
  Block block{.iter_vars = std::move(axes.axes),
              .reads = {make(BufferRegion{.buffer = from, .region = ranges})},
              .writes = {make(BufferRegion{.buffer = to, .region = ranges})},
              .name_hint = schedule.fresh_block_name(function, cache->name),
              .annotations = {{"auto_copy", int_imm(i32, 1)}},
              .body = std::move(body)};
  Stmt copy =
      make(BlockRealize{.iter_values = std::move(axes.values), .block = make(std::move(block))});
  return block_inside(schedule, plan.is_back ? schedule.insert_after(plan.at, std::move(copy))
                                             : schedule.insert_before(plan.at, std::move(copy)));
}

}  // namespace loopsmith
