// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/padding.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

bool is_padding_of(const Block& block, const std::vector<std::int64_t>& factors) {
  const auto is_positive = [](std::int64_t factor) { return factor > 0; };
  return factors.size() == block.iter_vars.size() && std::ranges::all_of(factors, is_positive);
}

std::optional<Refusal> refuse_other_kinds(const Schedule& schedule, BlockRV block, BlockRV scope) {
  const BlockKinds kinds =
      kinds_of(schedule, block, accesses_in_scope(schedule, schedule.node(scope)));
  if (kinds.is_complete() || kinds.is_reduction()) return {};
  return Refusal{&block_is_complete_or_reduction,
                 {Argument(block), Argument(std::int64_t{kinds.breaks_complete}),
                  Argument(std::int64_t{kinds.breaks_reduction})}};
}

Expr padded_extent(const IterVar& axis, std::int64_t factor) {
  const Expr& extent = axis.dom->extent;
  const Expr unit = int_imm(extent.dtype(), factor);
  Analyzer analyzer;
  Expr padded = analyzer.simplify(ceildiv(extent, unit) * unit);
  return analyzer.can_prove_equal(padded, extent) ? Expr() : padded;
}

bool is_alone_in(const Schedule& schedule, NodeId nest, BlockRV block) {
  for (NodeId node = schedule.node(block); node != nest;) {
    const NodeId parent = schedule.at(node).parent;
    if (!schedule.as<For>(parent) || only_child(schedule, parent) != node) return false;
    node = parent;
  }
  return true;
}

}  // namespace loopsmith
