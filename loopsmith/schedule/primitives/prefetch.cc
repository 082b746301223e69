// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/prefetch.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/region_relaxation.h"

namespace loopsmith {

namespace {

/// True when what makes a buffer, or its memory, stands inside of a loop around `node`.
bool is_made_inside(const Schedule& schedule, NodeId node, LoopRV loop, const Ptr<Buffer>& buffer) {
  const auto is_this = [&](const Ptr<Buffer>& other) { return other.same_as(buffer); };
  const auto is_memory = [&](const auto* allocation) {
    return allocation && allocation->buffer_var.same_as(buffer->data);
  };
  for (; node != schedule.node(loop); node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    const auto* declared = schedule.as<DeclBuffer>(node);
    if (realize && std::ranges::any_of(realize->block->alloc_buffers, is_this)) return true;
    if (realize &&
        std::ranges::any_of(realize->block->match_buffers, is_this, &MatchBufferRegion::buffer)) {
      return true;
    }
    if (declared && is_this(declared->buffer)) return true;
    if (is_memory(schedule.as<Allocate>(node)) || is_memory(schedule.as<AllocateConst>(node))) {
      return true;
    }
  }
  return false;
}

/// True when each iteration of the loop runs the block, whatever values buffers have.
bool always_runs(const Schedule& schedule, NodeId block, LoopRV loop) {
  if (!is_const_int(schedule.as<BlockRealize>(block)->predicate, 1)) return false;
  for (NodeId node = block; node != schedule.node(loop); node = schedule.at(node).parent) {
    if (schedule.as<IfThenElse>(node) || schedule.as<While>(node)) return false;
  }
  return true;
}

}  // namespace

Planned<PrefetchPlan> plan_prefetch(const Schedule& schedule, const PrefetchArguments& arguments) {
  const Block& block = schedule.get(arguments.block);
  const auto selected =
      select_buffer(block, arguments.read_buffer_index, BufferSelector::Side::read);
  if (!selected || selected->is_write) {
    return Refusal{&block_has_the_buffer, {Argument(arguments.block), Argument("reads")}};
  }
  const NodeId node = schedule.node(arguments.block);
  const auto loops = loops_around(schedule, node);
  if (std::ranges::find(loops, arguments.loop) == loops.end()) {
    return Refusal{&loop_is_around_block, {Argument(arguments.loop), Argument(arguments.block)}};
  }
  if (is_made_inside(schedule, node, arguments.loop, selected->buffer)) {
    return Refusal{&block_has_the_buffer,
                   {Argument(arguments.block), Argument("reads from outside of the loop")}};
  }
  const auto region = std::ranges::find_if(block.reads, [&](const Ptr<BufferRegion>& read) {
    return read->buffer.same_as(selected->buffer);
  });
  const ElementRegion box = accessed_region(schedule,
                                            {.buffer = selected->buffer.get(),
                                             .is_block = true,
                                             .place = {node},
                                             .region = region->get()},
                                            arguments.loop, MemoryScope::local);
  const For& loop = schedule.get(arguments.loop);
  const Expr ahead = loop.loop_var + int_imm(loop.loop_var->dtype, arguments.offset) * loop.step;
  // Indices that are read from memory are those of an iteration that there is.
  const Expr last = loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step;
  const Expr ahead_inside = is_const_int(loop.step, 1) ? min(ahead, last) : Expr(loop.loop_var);
  const bool may_be_read = always_runs(schedule, node, arguments.loop);
  PrefetchPlan plan{.loop = arguments.loop, .buffer = selected->buffer};
  Analyzer analyzer;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const Expr& size = selected->buffer->shape[d];
    const bool is_known = box[d].min.defined() && box[d].max.defined();
    const bool is_read = is_known && (reads_memory(box[d].min) || reads_memory(box[d].max));
    if (!is_known || (is_read && !may_be_read)) {
      plan.bounds.push_back(range(zero_of(size.dtype()), size));
      continue;
    }
    const Expr min = substitute(box[d].min, {{loop.loop_var, is_read ? ahead_inside : ahead}});
    const Expr extent = box[d].max - box[d].min + int_imm(box[d].min.dtype(), 1);
    plan.bounds.push_back(range(analyzer.simplify(min), analyzer.simplify(extent)));
  }
  return plan;
}

Nothing commit_prefetch(Schedule& schedule, PrefetchPlan&& plan) {
  const NodeId body = schedule.at(schedule.node(plan.loop)).first_child;
  const NodeId first = schedule.as<SeqStmt>(body) ? schedule.at(body).first_child : body;
  schedule.insert_before(first,
                         make(Prefetch{.buffer = plan.buffer, .bounds = std::move(plan.bounds)}));
  return {};
}

}  // namespace loopsmith
