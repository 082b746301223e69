// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/iteration_dimension.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
Expr iteration_of(const For& loop) {
  const Expr value = loop.loop_var - loop.min;
  return is_const_int(loop.step, 1) ? value : floordiv(value, loop.step);
}

namespace {

/// The innermost block around a node that is inside the loop, or the node itself; or no_node.
NodeId block_inside(const Schedule& schedule, NodeId node, NodeId loop) {
  for (; node != loop; node = schedule.at(node).parent) {
    if (schedule.as<BlockRealize>(node)) return node;
  }
  return no_node;
}

/// True when the bindings, the domains or the condition of a block use the buffer.
bool is_used_outside_of_body(const BlockRealize& realize, const Ptr<Buffer>& buffer) {
  const auto uses = [&](const Expr& expr) { return loads_from(expr, buffer); };
  const auto is_bounded = [&](const Ptr<IterVar>& axis) {
    return uses(axis->dom->min) || uses(axis->dom->extent);
  };
  return uses(realize.predicate) || std::ranges::any_of(realize.iter_values, uses) ||
         std::ranges::any_of(realize.block->iter_vars, is_bounded);
}

/// The axis of a block whose value this is, and that may index the buffer there; or null. Results
/// have no dimension for an axis of their reduction.
Ptr<Var> axis_that_is(const BlockRealize& realize, const Expr& value, const Buffer& buffer) {
  const bool is_output = std::ranges::any_of(
      realize.block->writes, [&](const auto& region) { return region->buffer.get() == &buffer; });
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    const bool may_index = axis.iter_type == IterType::data_par ||
                           (axis.iter_type == IterType::comm_reduce && !is_output);
    if (may_index && structural_equal(realize.iter_values[i], value)) return axis.var;
  }
  return {};
}

/// Finds, and makes where there is none, what tells the iteration of the loop inside a block.
class IterationIndex {
 public:
  IterationIndex(Schedule& schedule, LoopRV handle)
      : schedule_(schedule),
        loop_(handle),
        extent_(schedule.get(handle).extent),
        value_(iteration_of(schedule.get(handle))) {}

  Expr in(NodeId block, const Buffer& buffer) {
    if (block == no_node) return value_;
    const auto [known, is_new] = known_.try_emplace(block);
    if (!is_new) return known->second;
    const NodeId above = block_inside(schedule_, schedule_.at(block).parent, schedule_.node(loop_));
    const Expr outer = in(above, buffer);
    return known_[block] = axis_of(schedule_.block_at(block), outer, buffer);
  }

 private:
  Expr axis_of(BlockRV handle, const Expr& outer, const Buffer& buffer) {
    const BlockRealize& realize = schedule_.realize(handle);
    // Blocks in an init may have axes, and name no loop around.
    if (realize.block->iter_vars.empty() && !realize.block->init) return outer;
    if (const Ptr<Var> axis = axis_that_is(realize, outer, buffer); axis.defined()) return axis;
    BlockRealize& edited = schedule_.edit_realize(handle);
    const DataType type = outer.dtype();
    const Ptr<Var> axis = var(fmt::format("v_{}", schedule_.name(loop_)), type);
    IterVar made{.dom = range(int_imm(type, 0), cast(type, extent_)), .var = axis};
    schedule_.edit(handle).iter_vars.push_back(make(std::move(made)));
    edited.iter_values.push_back(outer);
    return axis;
  }

  Schedule& schedule_;
  LoopRV loop_;
  Expr extent_;
  Expr value_;
  std::map<NodeId, Expr> known_;
};

}  // namespace

std::optional<UsesByBlock> uses_by_block(const Schedule& schedule, LoopRV loop,
                                         const std::vector<NodeId>& nodes,
                                         const Ptr<Buffer>& buffer) {
  UsesByBlock found;
  for (const NodeId use : nodes) {
    const auto* realize = schedule.as<BlockRealize>(use);
    if (realize && is_used_outside_of_body(*realize, buffer)) return {};
    found[block_inside(schedule, use, schedule.node(loop))].nodes.push_back(use);
  }
  return found;
}

Ptr<Buffer> with_iterations(const Buffer& buffer, std::string name, const Expr& iterations) {
  Buffer expanded = *buffer_like(buffer, std::move(name), buffer.scope());
  expanded.shape.insert(expanded.shape.begin(), max(iterations, int_imm(iterations.dtype(), 0)));
  return make(std::move(expanded));
}

void add_iteration_dimension(Schedule& schedule, LoopRV loop, const UsesByBlock& all,
                             const Ptr<Buffer>& from, const Ptr<Buffer>& to) {
  IterationIndex iteration(schedule, loop);
  for (const auto& [block, uses] : all) {
    const Expr index = iteration.in(block, *from);
    AccessChange change;
    change.from = from;
    change.to = to;
    change.indices = [&](const std::vector<Expr>& indices, const IndexForms&) {
      std::vector<Expr> all_indices{index};
      all_indices.insert(all_indices.end(), indices.begin(), indices.end());
      return all_indices;
    };
    change.region = [&](const std::vector<Ptr<Range>>& region, const IndexForms&) {
      std::vector<Ptr<Range>> sides{range(index, int_imm(index.dtype(), 1))};
      sides.insert(sides.end(), region.begin(), region.end());
      return sides;
    };
    change_accesses(schedule, uses, change);
  }
}

bool is_known_at(const Schedule& schedule, NodeId owner, NodeId loop, const Expr& expr) {
  if (reads_memory(expr)) return false;
  for (NodeId node = schedule.at(loop).parent; node != owner; node = schedule.at(node).parent) {
    const auto* around = schedule.as<For>(node);
    const auto* realize = schedule.as<BlockRealize>(node);
    const auto* let = schedule.as<LetStmt>(node);
    if (around && uses_variable(expr, around->loop_var)) return false;
    if (let && uses_variable(expr, let->var)) return false;
    if (!realize) continue;
    for (const auto& axis : realize->block->iter_vars) {
      if (uses_variable(expr, axis->var)) return false;
    }
  }
  return true;
}

}  // namespace loopsmith
