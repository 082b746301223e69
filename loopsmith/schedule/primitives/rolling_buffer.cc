// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rolling_buffer.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {

void leave_out_old(Schedule& schedule, const RollingBufferPlan& plan) {
  BlockRealize realize = schedule.realize(plan.blocks[0]);
  realize.predicate = realize.predicate && plan.is_new;
  schedule.replace(schedule.node(plan.blocks[0]), make(std::move(realize)));
}

void fold_into_ring(Schedule& schedule, const RollingBufferPlan& plan) {
  const Ptr<Buffer>& old = plan.buffer;
  std::vector<Expr> shape = old->shape;
  for (const RingSide& side : plan.sides) {
    shape[side.dimension] = int_imm(shape[side.dimension].dtype(), side.extent);
  }
  const Ptr<Buffer> rolled =
      decl_buffer(std::move(shape), old->dtype, old->name, std::string(old->scope()));

  Rewriter rewrite;
  const auto moved = [&](auto access) {
    if (access.buffer.same_as(old)) {
      access.buffer = rolled;
      for (const RingSide& side : plan.sides) {
        Expr& index = access.indices[side.dimension];
        index = floormod(index, rolled->shape[side.dimension]);
      }
    }
    return make(std::move(access));
  };
  rewrite.on<BufferLoad>(
      [&](const BufferLoad& node) -> Expr { return moved(BufferLoad(*rewrite.children(node))); });
  rewrite.on<BufferStore>(
      [&](const BufferStore& node) -> Stmt { return moved(BufferStore(*rewrite.children(node))); });
  rewrite.on<Block>([&](const Block& node) {
    Block block = *rewrite.children(node);
    AccessRegions regions = access_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
    return make(std::move(block));
  });

  const auto rolls = [&](const Expr& value) {
    return std::ranges::any_of(
        plan.loops, [&](LoopRV loop) { return uses_variable(value, schedule.get(loop).loop_var); });
  };
  const BlockRV scope = *block_around(schedule, schedule.node(plan.blocks[0]));
  for (const BlockRV handle : plan.blocks) {
    BlockRealize realize = schedule.realize(handle);
    const Ptr<Block> before = realize.block;
    Block block = *rewrite(before);
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (!rolls(realize.iter_values[i])) continue;
      IterVar axis = *block.iter_vars[i];
      axis.iter_type = IterType::opaque;
      block.iter_vars[i] = make(std::move(axis));
    }
    realize.block = make(std::move(block));
    const Schedule::Renewed renewed{{before.get(), realize.block.get()}};
    schedule.replace(schedule.node(handle), make(std::move(realize)), renewed);
  }
  for (Ptr<Buffer>& allocated : schedule.edit(scope).alloc_buffers) {
    if (allocated.same_as(old)) allocated = rolled;
  }
  // Where an element is, only the iteration knows that has it.
  drop_prefetches(schedule, scope, *old);
  schedule.report().mirrors.push_back({old, rolled});
}

Nothing commit_rolling_buffer(Schedule& schedule, RollingBufferPlan&& plan) {
  leave_out_old(schedule, plan);
  fold_into_ring(schedule, plan);
  return {};
}

}  // namespace loopsmith
