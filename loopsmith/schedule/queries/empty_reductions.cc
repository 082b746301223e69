// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/empty_reductions.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

std::vector<Expr> unsure_domains(const Schedule& schedule, BlockRV block) {
  std::vector<Expr> found;
  if (!schedule.get(block).init) return found;
  Analyzer analyzer;
  std::vector<Ptr<Var>> reduced;
  for (const LoopRV each : loops_around(schedule, schedule.node(block))) {
    const For& loop = schedule.get(each);
    // Loops of the reduction need not run where there is nothing to reduce.
    const bool reduces = arith::is_reduction_loop(schedule.realize(block), loop.loop_var);
    if (reduces) reduced.push_back(loop.loop_var);
    if (!is_const_int(loop.step, 1) || (reduces && !as_int(loop.extent))) continue;
    analyzer.bind_range(loop.loop_var, loop.min, loop.extent, true);
  }
  // Nor does the init, where a condition on other loops does not hold.
  Expr known = true;
  for (const Expr& condition : arith::conjuncts(schedule.realize(block).predicate)) {
    const auto reads = [&](const auto& loop) { return uses_variable(condition, loop); };
    if (std::ranges::none_of(reduced, reads)) known = known && condition;
  }
  const auto scope = analyzer.constraint_scope(known);
  for (const auto& axis : schedule.get(block).iter_vars) {
    const Expr& extent = axis->dom->extent;
    if (axis->iter_type == IterType::comm_reduce &&
        !analyzer.can_prove(extent >= int_imm(extent.dtype(), 1))) {
      found.push_back(extent);
    }
  }
  return found;
}

std::optional<BlockRV> reduction_empty_in_parts(const Schedule& schedule, LoopRV loop) {
  const Ptr<Var>& variable = schedule.get(loop).loop_var;
  for (const BlockRV block : child_blocks(schedule, schedule.node(loop))) {
    if (!arith::is_reduction_loop(schedule.realize(block), variable)) continue;
    const bool is_moved =
        std::ranges::any_of(unsure_domains(schedule, block),
                            [&](const Expr& domain) { return uses_variable(domain, variable); });
    if (is_moved) return block;
  }
  return {};
}

std::optional<LoopRV> loop_of_empty_reduction(const Schedule& schedule, BlockRV block,
                                              NodeId node) {
  if (unsure_domains(schedule, block).empty()) return {};
  for (; node != no_node && !schedule.as<BlockRealize>(node); node = schedule.at(node).parent) {
    const auto* loop = schedule.as<For>(node);
    if (loop && arith::is_reduction_loop(schedule.realize(block), loop->loop_var)) {
      return schedule.loop_at(node);
    }
  }
  return {};
}

namespace {

struct EmptyReduction {
  BlockRV block;
  LoopRV loop;
};

/// The blocks inside all of the loops that reduce over one of them, and may be empty.
std::vector<EmptyReduction> empty_reductions(const Schedule& schedule,
                                             std::span<const LoopRV> loops) {
  std::vector<EmptyReduction> found;
  for (const BlockRV block : child_blocks(schedule, schedule.node(loops.back()))) {
    if (unsure_domains(schedule, block).empty()) continue;
    const auto reduced = std::ranges::find_if(loops, [&](LoopRV loop) {
      return arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
    });
    if (reduced != loops.end()) found.push_back({block, *reduced});
  }
  return found;
}

/// True when what is inside a node uses what the init of a block writes, or writes what it reads.
bool aliases_init(const ElementAccesses& accesses, const Block& block) {
  if (!accesses.opaque.empty() || accesses.by_pointer) return true;
  std::vector<const Object*> written, read;
  pre_order_visit(block.init, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) written.push_back(store->buffer->data.get());
    if (const auto* load = ref.as<BufferLoad>()) read.push_back(load->buffer->data.get());
    return !ref.is<Buffer>();
  });
  return std::ranges::any_of(accesses.all, [&](const ElementAccess& access) {
    const Object* memory = access.buffer->data.get();
    return std::ranges::find(written, memory) != written.end() ||
           (access.is_write && std::ranges::find(read, memory) != read.end());
  });
}

Refusal refusal_of(const EmptyReduction& reduction) {
  return changed_results(empty_reductions_start,
                         {Argument(reduction.loop), Argument(reduction.block)});
}

}  // namespace

std::optional<Refusal> refuse_inits_before(const Schedule& schedule, NodeId node,
                                           std::span<const LoopRV> loops) {
  const auto found = empty_reductions(schedule, loops);
  if (found.empty()) return {};
  const ElementAccesses accesses = accesses_inside(schedule, node);
  for (const EmptyReduction& reduction : found) {
    if (aliases_init(accesses, schedule.get(reduction.block))) return refusal_of(reduction);
  }
  return {};
}

}  // namespace loopsmith
