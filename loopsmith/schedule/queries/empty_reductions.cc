// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/empty_reductions.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

std::vector<Expr> unsure_domains(const Schedule& schedule, BlockRV block) {
  std::vector<Expr> found;
  if (!schedule.get(block).init) return found;
  Analyzer analyzer;
  for (const LoopRV each : loops_around(schedule, schedule.node(block))) {
    const For& loop = schedule.get(each);
    if (is_const_int(loop.step, 1)) analyzer.bind_range(loop.loop_var, loop.min, loop.extent, true);
  }
  for (const auto& axis : schedule.get(block).iter_vars) {
    const Expr& extent = axis->dom->extent;
    if (axis->iter_type == IterType::comm_reduce &&
        !analyzer.can_prove(extent >= int_imm(extent.dtype(), 1))) {
      found.push_back(extent);
    }
  }
  return found;
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

std::optional<Refusal> refuse_empty_reductions(const Schedule& schedule,
                                               std::span<const LoopRV> loops) {
  for (const BlockRV block : child_blocks(schedule, schedule.node(loops.back()))) {
    if (unsure_domains(schedule, block).empty()) continue;
    const auto reduced = std::ranges::find_if(loops, [&](LoopRV loop) {
      return arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
    });
    if (reduced != loops.end()) {
      return Refusal{&empty_reductions_start, {Argument(*reduced), Argument(block)}};
    }
  }
  return {};
}

}  // namespace loopsmith
