// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/reduction_fission.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {

std::optional<Schedule> with_reduction_split_off(const Schedule& schedule, LoopRV handle) {
  const NodeId node = schedule.node(handle);
  const For& loop = schedule.get(handle);
  const auto* sequence = loop.body.as<SeqStmt>();
  if (!sequence) return {};
  const auto is_reduction = [&](BlockRV block) {
    return arith::is_reduction_loop(schedule.realize(block), loop.loop_var);
  };
  bool ends_with_reduction = false;
  const NodeId statements = schedule.at(node).first_child;
  for (NodeId part = schedule.at(statements).first_child; part != no_node;
       part = schedule.at(part).next) {
    const bool is_last = schedule.at(part).slot + 1 == sequence->seq.size();
    const Handles<BlockRV> blocks = schedule.as<BlockRealize>(part)
                                        ? Handles<BlockRV>{schedule.block_at(part)}
                                        : child_blocks(schedule, part);
    if (!is_last && std::ranges::any_of(blocks, is_reduction)) return {};
    if (is_last) ends_with_reduction = blocks.size() == 1 && is_reduction(blocks[0]);
  }
  if (!ends_with_reduction) return {};
  const Stmt reduction = sequence->seq.back();
  Dependences dependences(under_path_condition(schedule, whole_nest(schedule, node)));
  if (!dependences.distributable(loop.loop_var, reduction)) return {};

  Schedule apart = schedule.snapshot();
  const std::string name = apart.fresh_loop_name(schedule.function_of(node), loop.loop_var->name);
  For before = loop, rest = loop;
  before.loop_var = var(name, loop.loop_var->dtype);
  std::vector<Stmt> parts(sequence->seq.begin(), sequence->seq.end() - 1);
  before.body = substitute(seq(std::move(parts)), {{loop.loop_var, before.loop_var}});
  rest.body = reduction;
  apart.replace(node, seq({make(std::move(before)), make(std::move(rest))}));
  return apart;
}

}  // namespace loopsmith
