// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/fuse_reduction_epilogue.h"

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/legality/reassociation.h"

namespace loopsmith {
namespace {

/// The reduction's init combined with what the epilogue does.
Expr start_of(const KnownReduction& reduction, const Expr& epilogue) {
  const Expr& init = reduction.init[0];
  if (const auto identity = reduction.reducer->identity) {
    if (structural_equal(identity({init.dtype()})[0], init)) return epilogue;
  }
  return reduction.reducer->combine({init}, {epilogue})[0];
}

}  // namespace

Planned<FuseReductionEpiloguePlan> plan_fuse_reduction_epilogue(
    const Schedule& schedule, const FuseReductionEpilogueArguments& arguments) {
  auto paired = pair_with_producer(schedule, arguments.epilogue_block, true);
  if (auto* refusal = std::get_if<Refusal>(&paired)) return std::move(*refusal);
  FuseReductionEpiloguePlan plan{std::get<ProducerConsumerPair>(std::move(paired)), {}};
  const ProducerConsumerPair& pair = plan.pair;
  if (pair.producer.index != arguments.reduction_block.index) {
    return Refusal{&epilogue_is_of_reduction,
                   {Argument(arguments.epilogue_block), Argument(arguments.reduction_block)}};
  }
  const auto reduction = reduction_of(schedule.get(pair.producer));
  const auto right =
      right_side_of(*reduction->reducer, {pair.stored.value}, {load(pair.buffer, pair.read)});
  if (!right || pair.stored.buffer->dtype != pair.buffer->dtype) {
    return Refusal{&epilogue_combines,
                   {Argument(arguments.epilogue_block), Argument(arguments.reduction_block)}};
  }
  plan.start = start_of(*reduction, clone_with((*right)[0], pair.axes));
  plan.reordered_reduction = rounding_reduction(schedule, pair.producer);
  return plan;
}

Nothing commit_fuse_reduction_epilogue(Schedule& schedule, FuseReductionEpiloguePlan&& plan) {
  const ProducerConsumerPair& pair = plan.pair;
  const Ptr<Block> block = schedule.realize(pair.producer).block;
  std::vector<Expr> indices;
  for (const Expr& index : pair.stored.indices) {
    indices.push_back(substitute(index, pair.axes));
  }
  // Each access of the producer's body to the buffer is to the element that it reduces.
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
    if (!node.buffer.same_as(pair.buffer)) return rewrite.children(node);
    return load(pair.stored.buffer, indices);
  });
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    const Ptr<BufferStore> inside = rewrite.children(node);
    return inside->buffer.same_as(pair.buffer) ? store(pair.stored.buffer, inside->value, indices)
                                               : Stmt(inside);
  });
  merge_into_producer(schedule, pair, rewrite(block->body),
                      store(pair.stored.buffer, plan.start, indices));
  return {};
}

}  // namespace loopsmith
