// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/decompose_reduction.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool uses(const Expr& expr, const Ptr<Var>& var) {
  if (expr.is<IntImm>()) return false;
  return expr.same_as(var) || uses_variable(expr, var);
}

/// What the loops around a reduction do for it.
class Decomposition {
 public:
  Decomposition(const Schedule& schedule, BlockRV block, LoopRV loop)
      : schedule_(schedule), realize_(schedule.realize(block)), loop_(loop) {
    plan_ = {.block = block, .loop = loop};
  }

  Planned<DecomposeReductionPlan> find() && {
    if (auto refusal = collect()) return *std::move(refusal);
    for (const LoopRV handle : inner_) {
      const For& loop = schedule_.get(handle);
      if (binds_axis(realize_, loop.loop_var, IterType::data_par))
        plan_.copied.push_back(handle);
      else
        dropped_.push_back(handle);
    }
    for (const LoopRV handle : plan_.copied) {
      const For& loop = schedule_.get(handle);
      for (const LoopRV other : dropped_) {
        const Ptr<Var>& var = schedule_.get(other).loop_var;
        if (uses(loop.min, var) || uses(loop.extent, var) || uses(loop.step, var)) {
          return fail("bounds of its spatial loops depend on others");
        }
      }
    }
    if (auto refusal = find_condition()) return *std::move(refusal);
    const NodeId scope = scope_of(schedule_, schedule_.node(plan_.block));
    plan_.preservation = {scope, starts_before_loop(schedule_, plan_.block, loop_,
                                                    accesses_in_scope(schedule_, scope))};
    return std::move(plan_);
  }

 private:
  Refusal fail(std::string why) const {
    return changed_results(init_can_go_first,
                           {Argument(plan_.block), Argument(loop_), Argument(why)});
  }

  /// The loops from `loop` inward, and the conditions among them.
  std::optional<Refusal> collect() {
    bool is_inner = true;
    NodeId below = schedule_.node(plan_.block);
    for (NodeId node = schedule_.at(below).parent; node != no_node;
         below = node, node = schedule_.at(node).parent) {
      if (schedule_.as<BlockRealize>(node)) break;
      if (const auto* loop = schedule_.as<For>(node)) {
        const LoopRV handle = schedule_.loop_at(node);
        if (is_inner) {
          inner_.push_back(handle);
        } else if (binds_axis(realize_, loop->loop_var, IterType::comm_reduce)) {
          return Refusal{&loop_is_above_reduction,
                         {Argument(loop_), Argument(handle), Argument(plan_.block)}};
        }
        if (handle == loop_) is_inner = false;
      } else if (const auto* branch = schedule_.as<IfThenElse>(node); branch && is_inner) {
        const bool is_then = schedule_.at(below).slot == 0;
        for (const Expr& part :
             arith::conjuncts(is_then ? branch->condition : !branch->condition)) {
          conditions_.push_back(part);
        }
      } else if (is_inner && !schedule_.as<SeqStmt>(node)) {
        return fail("it stands inside a statement that is no loop and no condition");
      }
    }
    std::ranges::reverse(inner_);
    return {};
  }

  /// Under which conditions the init runs where it goes.
  std::optional<Refusal> find_condition() {
    std::vector<const For*> loops;
    for (const LoopRV handle : dropped_) loops.push_back(&schedule_.get(handle));
    std::vector<Expr> conditions = arith::conjuncts(realize_.predicate), of_reduction;
    conditions.insert(conditions.end(), conditions_.begin(), conditions_.end());
    for (const Expr& condition : conditions) {
      if (reads_memory(condition)) return fail("whether it runs depends on memory");
      const bool uses_dropped = std::ranges::any_of(
          loops, [&](const For* loop) { return uses(condition, loop->loop_var); });
      (uses_dropped ? of_reduction : plan_.conditions).push_back(condition);
    }
    const Expr starts = arith::init_condition(realize_, loops, of_reduction);
    if (!starts.defined()) return fail("its reduction does not start at the first iteration");
    const Expr there = substitute(starts, single_values());
    for (const For* loop : loops) {
      if (uses(there, loop->loop_var))
        return fail("which of its iterations is the first depends on its loops");
    }
    for (const Expr& part : arith::conjuncts(there)) {
      if (!is_const_int(part, 1)) plan_.conditions.push_back(part);
    }
    return {};
  }

  /// The values of loops of the reduction that have one.
  Substitution single_values() const {
    Substitution values;
    for (const LoopRV handle : dropped_) {
      const For& loop = schedule_.get(handle);
      if (is_const_int(loop.extent, 1)) values[loop.loop_var] = loop.min;
    }
    return values;
  }

  const Schedule& schedule_;
  const BlockRealize& realize_;
  const LoopRV loop_;
  std::vector<LoopRV> inner_;
  std::vector<LoopRV> dropped_;
  std::vector<Expr> conditions_;
  DecomposeReductionPlan plan_;
};

/// The init as a block of its own, for the axes in `values`.
Ptr<Block> init_block(const Block& block, const Substitution& values, std::string name) {
  Block init{.name_hint = std::move(name),
             .annotations = block.annotations.with(reducer_annotation, nullptr)};
  for (const auto& axis : block.iter_vars) {
    const auto renamed = values.find(axis->var);
    if (renamed == values.end() || axis->iter_type != IterType::data_par) continue;
    IterVar copy = *axis;
    copy.var = Ptr<Var>::from(renamed->second);
    init.iter_vars.push_back(make(std::move(copy)));
  }
  init.body = clone_with(block.init, values);
  const AccessRegions regions = access_regions(init);
  init.reads = regions.reads;
  init.writes = regions.writes;
  return make(std::move(init));
}

}  // namespace

Planned<DecomposeReductionPlan> plan_decompose_reduction(
    const Schedule& schedule, const DecomposeReductionArguments& arguments) {
  const auto loops = loops_around(schedule, schedule.node(arguments.block));
  if (std::ranges::find(loops, arguments.loop) == loops.end()) {
    return Refusal{&loop_is_around_block, {Argument(arguments.loop), Argument(arguments.block)}};
  }
  const Block& block = schedule.get(arguments.block);
  if (!block.init) return Refusal{&block_is_reduction, {Argument(arguments.block), Argument(1)}};
  const bool has_known_axes = std::ranges::all_of(block.iter_vars, [](const auto& axis) {
    return axis->iter_type == IterType::data_par || axis->iter_type == IterType::comm_reduce;
  });
  if (!has_known_axes) {
    return Refusal{&block_is_reduction, {Argument(arguments.block), Argument(2)}};
  }
  return Decomposition(schedule, arguments.block, arguments.loop).find();
}

BlockRV commit_decompose_reduction(Schedule& schedule, DecomposeReductionPlan&& plan) {
  const NodeId node = schedule.node(plan.block);
  const std::uint32_t function = schedule.function_of(node);
  BlockRealize realize = schedule.realize(plan.block);
  const Block block = *realize.block;
  const SpanScope span(schedule.span_from(realize.span));

  Substitution loops;
  std::vector<For> copies;
  for (const LoopRV handle : plan.copied) {
    For copy = schedule.get(handle);
    const std::string name = schedule.fresh_loop_name(function, copy.loop_var->name + "_init");
    const Ptr<Var> renamed = var(name, copy.loop_var->dtype);
    loops[copy.loop_var] = renamed;
    copy.loop_var = renamed;
    copy.min = substitute(copy.min, loops);
    copy.extent = substitute(copy.extent, loops);
    copy.annotations = {};
    copies.push_back(std::move(copy));
  }
  BlockRealize start;
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (axis.iter_type != IterType::data_par) {
      // It runs where the reduction starts.
      axes[axis.var] = axis.dom->min;
      continue;
    }
    axes[axis.var] = var(axis.var->name + "_init", axis.var->dtype);
    start.iter_values.push_back(substitute(realize.iter_values[i], loops));
  }
  for (const Expr& condition : plan.conditions) {
    start.predicate = start.predicate && substitute(condition, loops);
  }
  start.block =
      init_block(block, axes, schedule.fresh_block_name(function, block.name_hint + "_init"));
  schedule.report().parted = PartedBlock{plan.block, start.block};
  Stmt nest = make(std::move(start));
  for (std::size_t i = copies.size(); i-- > 0;) {
    copies[i].body = std::move(nest);
    nest = make(std::move(copies[i]));
  }
  NodeId made = schedule.insert_before(schedule.node(plan.loop), std::move(nest));
  while (!schedule.as<BlockRealize>(made)) made = schedule.at(made).first_child;

  Block update = block;
  update.init = nullptr;
  update.name_hint = schedule.fresh_block_name(function, block.name_hint + "_update");
  update.reads = block.writes;
  update.reads.insert(update.reads.end(), block.reads.begin(), block.reads.end());
  const Ptr<Block> old = realize.block;
  realize.block = make(std::move(update));
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  schedule.replace(node, make(std::move(realize)), renewed);
  return schedule.block_at(made);
}

}  // namespace loopsmith
