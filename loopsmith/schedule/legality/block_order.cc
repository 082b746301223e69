// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/block_order.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/nest_memory.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

/// The outermost loop of the launch around a loop.
NodeId kernel_of(const Schedule& schedule, NodeId loop) {
  NodeId kernel = loop;
  for (NodeId at = loop; at != no_node; at = schedule.at(at).parent) {
    const auto* around = schedule.as<For>(at);
    if (around && is_launch_axis(thread_axis_of(*around))) kernel = at;
  }
  return kernel;
}

/// The loops over an axis in a statement, or over any axis of blocks.
std::vector<LoopRV> loops_over_blocks(const Schedule& schedule, NodeId root,
                                      ThreadAxis axis = ThreadAxis::none) {
  std::vector<LoopRV> found;
  std::vector<NodeId> open = {root};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    const auto* loop = schedule.as<For>(node);
    const ThreadAxis over = loop ? thread_axis_of(*loop) : ThreadAxis::none;
    if (is_block_axis(over) && (axis == ThreadAxis::none || over == axis)) {
      found.push_back(schedule.loop_at(node));
    }
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
  return found;
}

/// True when nothing but loops of the launch is between a kernel and a loop.
bool is_outermost(const Schedule& schedule, NodeId kernel, NodeId loop) {
  for (NodeId at = loop; at != kernel; at = schedule.at(at).parent) {
    const auto* around = schedule.as<For>(schedule.at(at).parent);
    if (!around || !is_launch_axis(thread_axis_of(*around))) return false;
  }
  return true;
}

/// A kernel whose loops over one axis of blocks stand around it.
struct ByBlocks {
  Ptr<Var> block;
  Stmt kernel;  ///< Null where an extent is not known outside.
};

bool has_loop_over(const Stmt& stmt, ThreadAxis axis) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    found = found || (loop && thread_axis_of(*loop) == axis);
    return !found && !is_expr(*ref.get());
  });
  return found;
}

ByBlocks by_blocks(const Stmt& kernel, ThreadAxis axis) {
  ByBlocks made{.block = var("block", i64)};
  const Expr block = made.block;
  Rewriter rewrite;
  int depth = 0;              // Of loops over the axis around,
  std::vector<Expr> extents;  // which go on for so long.
  rewrite.on<For>([&](const For& node) -> Stmt {
    if (thread_axis_of(node) != axis) return rewrite.children(node);
    ++depth;
    const Ptr<For> loop = rewrite.children(node);
    --depth;
    extents.push_back(node.extent);
    const Expr value = loop->min + cast(loop->loop_var->dtype, block);
    return make(IfThenElse{.condition = block < cast(i64, loop->extent),
                           .then_case = substitute(loop->body, {{loop->loop_var, value}})});
  });
  // What stands beside all loops over the axis is moved elsewhere until the program is lowered.
  const auto is_beside = [&](const Stmt& part) { return depth == 0 && !has_loop_over(part, axis); };
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> parts;
    for (const Stmt& part : node.seq) {
      if (!is_beside(part)) parts.push_back(rewrite(part));
    }
    return seq(std::move(parts));
  });
  rewrite.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    IfThenElse branch = node;
    branch.then_case = is_beside(node.then_case) ? no_op() : rewrite(node.then_case);
    if (node.else_case) {
      branch.else_case = is_beside(node.else_case) ? no_op() : rewrite(node.else_case);
    }
    return make(std::move(branch));
  });
  Stmt body = rewrite(kernel);
  const std::vector<Ptr<Var>> outside = free_variables(kernel);
  Expr blocks;
  for (const Expr& each : extents) {
    for (const Ptr<Var>& used : free_variables(each)) {
      const bool is_outside =
          std::ranges::any_of(outside, [&](const Ptr<Var>& known) { return known.same_as(used); });
      if (!is_outside) return made;
    }
    const Expr extent = cast(i64, each);
    blocks = blocks.defined() ? max(blocks, extent) : extent;
  }
  made.kernel = for_loop(made.block, int_imm(i64, 0), blocks, std::move(body));
  return made;
}

}  // namespace

std::optional<Refusal> block_order_conflict_of(const Schedule& schedule, LoopRV handle,
                                               OwnMemory& memory) {
  const For& loop = schedule.get(handle);
  const ThreadAxis axis = thread_axis_of(loop);
  if (!is_block_axis(axis)) return {};
  const NodeId node = schedule.node(handle), kernel = kernel_of(schedule, node);
  if (is_outermost(schedule, kernel, node)) return {};
  const ByBlocks blocks = by_blocks(under_path_condition(schedule, kernel), axis);
  if (!blocks.kernel) return {};  // Lowering refuses that.

  std::vector<Ptr<Buffer>> own, regrouped;
  for (const LoopRV each : loops_over_blocks(schedule, kernel, axis)) {
    std::ranges::copy(carried_by(schedule, each, Concurrency::in_blocks, memory).own,
                      std::back_inserter(own));
    if (const auto found = regrouped_by(schedule, each, schedule.get(each))) {
      std::ranges::copy(*found, std::back_inserter(regrouped));
    }
  }
  const auto is_apart = [&](const CarriedDependence& found) {
    if (!found.buffer) return false;
    const bool is_own =
        is_private_to_iteration(Concurrency::in_blocks, memory_scope(*found.buffer));
    return is_own || is_one_of(own, found.buffer) ||
           (found.is_reduction && is_one_of(regrouped, found.buffer));
  };
  Dependences dependences(blocks.kernel);
  bool may_conflict = false;
  for (const CarriedDependence& found : dependences.carried(blocks.block)) {
    if (is_apart(found)) continue;
    const std::string what = found.buffer ? found.buffer->name : "memory";
    std::vector<Argument> subjects{Argument(loop.loop_var->name),
                                   Argument(std::string(tag_of(axis))), Argument(what)};
    if (found.is_certain) return changed_results(blocks_would_depend, std::move(subjects));
    may_conflict = true;
  }
  if (!may_conflict) return {};
  return changed_results(blocks_may_depend,
                         {Argument(loop.loop_var->name), Argument(std::string(tag_of(axis)))});
}

std::optional<Refusal> block_order_conflict_around(const Schedule& after, LoopRV bound) {
  OwnMemory memory(after);
  for (const LoopRV loop : loops_over_blocks(after, whole_nest(after, after.node(bound)))) {
    if (auto refusal = block_order_conflict_of(after, loop, memory)) return refusal;
  }
  return {};
}

}  // namespace loopsmith
