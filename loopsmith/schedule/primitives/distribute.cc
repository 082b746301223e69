// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/distribute.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/replacement.h"

namespace loopsmith {
namespace {

/// True when each part may be a block of its own: it has its axes and its condition, no memory and
/// no init.
bool may_repeat(const BlockRealize& realize) {
  const Block& block = *realize.block;
  return !block.init && block.alloc_buffers.empty() && block.match_buffers.empty() &&
         !reads_memory(realize.predicate) &&
         std::ranges::none_of(realize.iter_values, [](const Expr& e) { return reads_memory(e); }) &&
         std::ranges::none_of(block.iter_vars, [](const auto& axis) { return reads_memory(axis); });
}

/// What a loop, or a condition or a block that each part may have again, holds; null for other
/// nodes.
Stmt held_by(const Schedule& schedule, NodeId node) {
  if (const auto* loop = schedule.as<For>(node)) return loop->body;
  if (const auto* realize = schedule.as<BlockRealize>(node)) {
    return may_repeat(*realize) ? realize->block->body : Stmt();
  }
  const auto* branch = schedule.as<IfThenElse>(node);
  const bool may_repeat = branch && !branch->else_case && !reads_memory(branch->condition);
  return may_repeat ? branch->then_case : Stmt();
}

/// The loop and what is inside it, each alone in the one around, down to a sequence; no sequence:
/// empty.
std::vector<NodeId> chain_to_sequence(const Schedule& schedule, LoopRV loop) {
  std::vector<NodeId> chain;
  for (NodeId node = schedule.node(loop); node != no_node; node = only_child(schedule, node)) {
    const Stmt body = held_by(schedule, node);
    if (!body) break;
    chain.push_back(node);
    if (body.is<SeqStmt>()) return chain;
  }
  return {};
}

/// A block around a part of what it held.
Ptr<Block> with_part(Block block, Stmt part, const BufferOfPointer& buffers) {
  block.body = std::move(part);
  AccessRegions found = access_regions(block, buffers);
  if (found.opaque.empty()) {  // Else what it declares is true of its parts, too.
    block.reads = std::move(found.reads);
    block.writes = std::move(found.writes);
  }
  return make(std::move(block));
}

/// The loops, conditions and blocks around statements, once more around a part of them.
class Nest {
 public:
  /// `number`: of the part. The first keeps the names.
  Nest(Schedule& schedule, const std::vector<NodeId>& chain, std::size_t number)
      : schedule_(schedule), chain_(chain), number_(number) {}

  Stmt around(const Stmt& part, const BufferOfPointer& buffers, Schedule::Renewed& blocks) {
    std::vector<Stmt> shells;
    for (const NodeId node : chain_) shells.push_back(shell_of(schedule_.statement(node)));
    Stmt nest = values_.empty() ? part : substitute(part, values_);
    add_renewed_blocks(part, nest, blocks);
    for (std::size_t i = shells.size(); i-- > 0;) {
      if (const auto* loop = shells[i].as<For>()) {
        For copy = *loop;
        copy.body = std::move(nest);
        nest = make(std::move(copy));
      } else if (const auto* branch = shells[i].as<IfThenElse>()) {
        IfThenElse copy = *branch;
        copy.then_case = std::move(nest);
        nest = make(std::move(copy));
      } else {
        BlockRealize copy = *shells[i].as<BlockRealize>();
        copy.block = with_part(*copy.block, std::move(nest), buffers);
        if (number_ == 0) {
          blocks[schedule_.as<BlockRealize>(chain_[i])->block.get()] = copy.block.get();
        }
        nest = make(std::move(copy));
      }
    }
    return nest;
  }

 private:
  /// A node of the chain, without what it holds, by variables and a name of the part's own.
  Stmt shell_of(const Stmt& node) {
    if (const auto* loop = node.as<For>()) return shell_of(*loop);
    if (const auto* realize = node.as<BlockRealize>()) return shell_of(*realize);
    IfThenElse branch = *node.as<IfThenElse>();
    branch.condition = substitute(branch.condition, values_);
    branch.then_case = no_statement();
    return make(std::move(branch));
  }

  Stmt shell_of(For loop) {
    loop.body = no_statement();
    if (number_ > 0) {
      loop.min = substitute(loop.min, values_);
      loop.extent = substitute(loop.extent, values_);
      loop.step = substitute(loop.step, values_);
      const std::string name = numbered(loop.loop_var->name);
      loop.loop_var = own(loop.loop_var, schedule_.fresh_loop_name(function(), name));
    }
    return make(std::move(loop));
  }

  Stmt shell_of(BlockRealize realize) {
    Block block = *realize.block;
    block.body = no_statement();
    if (number_ > 0) {
      realize.predicate = substitute(realize.predicate, values_);
      for (Expr& value : realize.iter_values) value = substitute(value, values_);
      for (Ptr<IterVar>& axis : block.iter_vars) {
        IterVar other = *axis;
        other.dom = make(Range{.min = substitute(axis->dom->min, values_),
                               .extent = substitute(axis->dom->extent, values_)});
        other.var = own(axis->var, axis->var->name);
        axis = make(std::move(other));
      }
      block.name_hint = schedule_.fresh_block_name(function(), numbered(block.name_hint));
    }
    realize.block = make(std::move(block));
    return make(std::move(realize));
  }

  Ptr<Var> own(const Ptr<Var>& variable, std::string name) {
    const Ptr<Var> fresh = var(std::move(name), variable->dtype);
    values_[variable] = fresh;
    return fresh;
  }
  std::string numbered(const std::string& name) const {
    return fmt::format("{}_{}", name, number_);
  }
  std::uint32_t function() const { return schedule_.function_of(chain_.front()); }

  Schedule& schedule_;
  const std::vector<NodeId>& chain_;
  std::size_t number_;
  Substitution values_;
};

}  // namespace

Planned<DistributePlan> plan_distribute(const Schedule& schedule,
                                        const DistributeArguments& arguments) {
  DistributePlan plan{arguments.loop, chain_to_sequence(schedule, arguments.loop), {}, {}};
  if (plan.chain.empty()) return Refusal{&loop_has_statements, {Argument(arguments.loop)}};
  for (const NodeId node : plan.chain) {
    if (!schedule.as<For>(node)) continue;
    const LoopRV loop = schedule.loop_at(node);
    if (auto refusal = refuse_unless_plain(schedule, loop)) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loop, arguments.loop)) {
      return *std::move(refusal);
    }
  }
  const Stmt body = held_by(schedule, plan.chain.back());
  if (const auto jump = jump_out_of(body)) {
    return Refusal{&iterations_reach_their_end, {Argument(*jump), Argument(arguments.loop)}};
  }
  plan.parts = body.as<SeqStmt>()->seq;
  return plan;
}

Handles<LoopRV> commit_distribute(Schedule& schedule, DistributePlan&& plan) {
  const NodeId top = plan.chain.front();
  const std::uint32_t function = schedule.function_of(top);
  const SpanScope span(schedule.span_from(schedule.as<For>(top)->span));
  const Stmt body = held_by(schedule, plan.chain.back());
  const std::vector<Stmt>& statements = body.as<SeqStmt>()->seq;
  plan.cuts.push_back(statements.size());

  const auto buffers = buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function)));
  std::vector<Stmt> nests;
  std::vector<Ptr<Var>> variables;
  Schedule::Renewed renewed;
  std::size_t first = 0;
  for (const std::size_t end : plan.cuts) {
    const auto at = [&](std::size_t i) {
      return statements.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const Stmt part = seq(std::vector<Stmt>(at(first), at(end)));
    nests.push_back(Nest(schedule, plan.chain, nests.size()).around(part, buffers, renewed));
    variables.push_back(nests.back().as<For>()->loop_var);
    first = end;
  }
  schedule.replace(top, seq(std::move(nests)), renewed);
  return loops_of_vars(schedule, function, variables);
}

}  // namespace loopsmith
