// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/tensorize.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/intrinsics/intrin_match.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {
namespace {

/// Gives a block what `storage_align` said of memory that blocks inside of it write, which an
/// implementation takes the place of.
void take_over_alignments(Block& around) {
  List rows;
  pre_order_visit(around.body, [&](const Ref& ref) {
    const auto* inner = ref.as<Block>();
    const Ref known = inner ? inner->annotations.get(alignments_key) : Ref();
    const auto* given = known.as<List>();
    for (const Ref& row : given ? given->items : std::vector<Ref>{}) {
      List own = *row.as<List>();
      const auto number = static_cast<std::size_t>(*as_int(Expr::from(own.items[0])));
      const Ptr<Buffer>& buffer = inner->writes[number]->buffer;
      const auto found = std::ranges::find_if(
          around.writes, [&](const auto& write) { return write->buffer.same_as(buffer); });
      if (found == around.writes.end()) continue;
      own.items[0] = int_imm(i32, found - around.writes.begin());
      rows.items.push_back(make(std::move(own)));
    }
    return !is_expr(*ref.get());
  });
  if (rows.items.empty()) return;
  around.annotations = around.annotations.with(alignments_key, Ref(make(std::move(rows))));
}

}  // namespace

Planned<TensorizePlan> plan_tensorize(const Schedule& schedule,
                                      const TensorizeArguments& arguments) {
  const std::string name = arguments.tensor_intrin.name();
  const Ptr<TensorIntrin> intrin = arguments.tensor_intrin.find();
  if (!intrin) return Refusal{&tensor_intrin_is_known, {Argument(name)}};
  TensorizePlan plan;
  Argument subject;
  const auto* loop = std::get_if<LoopRV>(&arguments.block_or_loop);
  if (loop) {
    plan.loop = *loop;
    auto enclosing = enclosing_block_of(schedule, *loop, arguments.preserve_unit_iters);
    if (auto* refusal = std::get_if<Refusal>(&enclosing)) return std::move(*refusal);
    plan.enclosing = std::get<EnclosingBlock>(std::move(enclosing));
    plan.made = plan.enclosing->block;
    take_over_alignments(plan.made);
    subject = child_blocks(schedule, schedule.node(*loop))[0];
  } else {
    plan.block = std::get<BlockRV>(arguments.block_or_loop);
    if (!block_around(schedule, schedule.node(plan.block))) {
      return Refusal{&block_is_not_root, {Argument(plan.block)}};
    }
    plan.made = schedule.get(plan.block);
    subject = plan.block;
  }
  IntrinMatch match = match_intrin(plan.made, *intrin->desc);
  if (match.differences.empty()) {
    // In what order the implementation adds is its own business.
    if (reduces_rounding_inside(plan.made)) plan.reordered_reduction = subject;
    plan.made = with_implementation(plan.made, intrin->impl, match);
  }
  if (!match.differences.empty()) {
    return Refusal{
        &block_matches_intrin,
        {subject, Argument(name), Argument(fmt::format("{}", fmt::join(match.differences, "; ")))}};
  }
  return plan;
}

Nothing commit_tensorize(Schedule& schedule, TensorizePlan&& plan) {
  if (plan.enclosing) {
    plan.enclosing->block = std::move(plan.made);
    // What was inside has no successor.
    plan.enclosing->renewed.clear();
    insert_enclosing_block(schedule, *std::move(plan.enclosing));
    return {};
  }
  const NodeId node = schedule.node(plan.block);
  BlockRealize realize = schedule.realize(plan.block);
  const Ptr<Block> old = std::exchange(realize.block, make(std::move(plan.made)));
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  schedule.replace(node, make(std::move(realize)), renewed);
  return {};
}

}  // namespace loopsmith
