// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/decompose_padding.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/deduce_bound.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/axis_rewrite.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// True when an expression is the same for all instances, whatever else is done.
bool is_constant(const Expr& expr) {
  return free_variables(expr).empty() && !reads_memory(expr);
}

bool has_effect(const Expr& expr) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || (call && !call->op.is_pure());
    return !found;
  });
  return found;
}

class PaddingPlanner {
 public:
  PaddingPlanner(const Schedule& schedule, const DecomposePaddingArguments& arguments)
      : schedule_(schedule), realize_(schedule.realize(arguments.block)), block_(*realize_.block) {
    plan_.block = arguments.block;
    plan_.loop = arguments.loop;
  }

  Planned<DecomposePaddingPlan> find() && {
    const NodeId node = schedule_.node(plan_.block);
    const auto loops = loops_around(schedule_, node);
    const auto first = std::ranges::find(loops, plan_.loop);
    if (first == loops.end()) {
      return Refusal{&loop_is_around_block, {Argument(plan_.loop), Argument(plan_.block)}};
    }
    plan_.copied.assign(first, loops.end());
    if (block_.iter_vars.empty()) return fail("it has no axes");
    const auto* store = block_.body.as<BufferStore>();
    const auto* choice = store ? store->value.as<Call>() : nullptr;
    if (!choice || choice->op != op("if_then_else")) return fail("it stores no if_then_else");
    plan_.value = choice->args[1];
    plan_.constant = choice->args[2];
    if (!is_constant(plan_.constant)) return fail("what it pads with is no constant");
    if (has_effect(plan_.value)) return fail("its value has side effects");
    if (reads_memory(choice->args[0])) return fail("its condition reads memory");
    if (auto refusal = refuse_statements()) return *std::move(refusal);
    shorten(arith::conjuncts(choice->args[0]));
    const NodeId scope = scope_of(schedule_, node);
    plan_.preservation = {scope, fills_before_loop(schedule_, plan_.block, plan_.loop,
                                                   accesses_in_scope(schedule_, scope))};
    return std::move(plan_);
  }

 private:
  Refusal fail(std::string why) const {
    return {&body_pads, {Argument(plan_.block), Argument(std::move(why))}};
  }

  /// Between the loop and the block, conditions and variables would have to be copied, too.
  std::optional<Refusal> refuse_statements() const {
    const NodeId top = schedule_.node(plan_.loop);
    for (NodeId node = schedule_.at(schedule_.node(plan_.block)).parent; node != top;
         node = schedule_.at(node).parent) {
      if (!schedule_.as<For>(node) && !schedule_.as<SeqStmt>(node)) {
        return fail("it stands inside a statement that is no loop");
      }
    }
    return {};
  }

  /// True when a loop holds loops around the block, and nothing else.
  bool holds_block_alone(LoopRV loop) const {
    NodeId node = schedule_.node(loop);
    while (node != no_node && schedule_.as<For>(node)) node = only_child(schedule_, node);
    return node == schedule_.node(plan_.block);
  }

  /// The loop that is an axis, and nothing else.
  std::optional<LoopRV> loop_of(std::size_t axis) const {
    const IterVar& node = *block_.iter_vars[axis];
    for (const LoopRV handle : plan_.copied) {
      const For& loop = schedule_.get(handle);
      if (!realize_.iter_values[axis].same_as(loop.loop_var)) continue;
      std::int64_t users = 0;
      for (const Expr& value : realize_.iter_values) users += uses_variable(value, loop.loop_var);
      const bool is_alone = users == 1 && !uses_variable(realize_.predicate, loop.loop_var) &&
                            holds_block_alone(handle);
      const bool is_whole = is_const_int(loop.min, 0) && is_const_int(loop.step, 1) &&
                            is_const_int(node.dom->min, 0) && loop.kind == ForKind::serial &&
                            structural_equal(loop.extent, node.dom->extent);
      if (is_alone && is_whole && !bounds_use(loop.loop_var)) return handle;
    }
    return {};
  }

  bool bounds_use(const Ptr<Var>& var) const {
    return std::ranges::any_of(plan_.copied, [&](LoopRV handle) {
      const For& loop = schedule_.get(handle);
      return uses_variable(loop.min, var) || uses_variable(loop.extent, var);
    });
  }

  /// Turns conditions on one axis into bounds of its loop; the others stay conditions.
  void shorten(const std::vector<Expr>& conditions) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ends(block_.iter_vars.size());
    std::vector<bool> is_shorter(ends.size(), false);
    plan_.predicate = true;
    for (const Expr& condition : conditions) {
      const auto variables = free_variables(condition);
      std::size_t axis = 0;
      while (axis < ends.size() &&
             !(variables.size() == 1 && variables[0].same_as(block_.iter_vars[axis]->var))) {
        ++axis;
      }
      const std::int64_t* extent =
          axis < ends.size() ? as_int(block_.iter_vars[axis]->dom->extent) : nullptr;
      const auto bounds = extent && loop_of(axis)
                              ? bounds_of(condition, block_.iter_vars[axis]->var, *extent)
                              : std::nullopt;
      if (!bounds) {
        plan_.predicate = plan_.predicate && condition;
        continue;
      }
      if (!is_shorter[axis]) ends[axis] = {0, *extent - 1};
      ends[axis] = {std::max(ends[axis].first, bounds->first),
                    std::min(ends[axis].second, bounds->second)};
      is_shorter[axis] = true;
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      if (!is_shorter[k]) continue;
      const auto [min, max] = ends[k];
      plan_.shortened.push_back({*loop_of(k), k, min, std::max<std::int64_t>(max - min + 1, 0)});
    }
  }

  /// The values in [0, extent) for which a condition holds, where they are an interval and known.
  static std::optional<std::pair<std::int64_t, std::int64_t>> bounds_of(const Expr& condition,
                                                                        const Ptr<Var>& var,
                                                                        std::int64_t extent) {
    const IntSet set = deduce_bound(var, condition, {}, {});
    Analyzer analyzer;
    const auto end = [&](const Expr& value,
                         std::int64_t default_value) -> std::optional<std::int64_t> {
      if (!value.defined()) return default_value;
      const Expr simple = analyzer.simplify(value);
      const std::int64_t* number = as_int(simple);
      return number ? std::optional(*number) : std::nullopt;
    };
    if (set.is_nothing()) return {};
    const auto min = end(set.min_value(), 0), max = end(set.max_value(), extent - 1);
    if (!min || !max) return {};
    // The set may leave out values for which the condition holds, too.
    const auto holds = [&](std::int64_t value) {
      const Expr at = substitute(condition, {{var, int_imm(var->dtype, value)}});
      return !is_const_int(analyzer.simplify(at), 0);
    };
    const std::pair<std::int64_t, std::int64_t> ends{std::max<std::int64_t>(*min, 0),
                                                     std::min(*max, extent - 1)};
    if (ends.first > ends.second) return {};
    if (ends.first > 0 && holds(ends.first - 1)) return {};
    if (ends.second < extent - 1 && holds(ends.second + 1)) return {};
    return ends;
  }

  const Schedule& schedule_;
  const BlockRealize& realize_;
  const Block& block_;
  DecomposePaddingPlan plan_;
};

/// Loops like those of the block around one that stores the constant.
Stmt constant_nest(Schedule& schedule, const DecomposePaddingPlan& plan) {
  const BlockRealize& realize = schedule.realize(plan.block);
  const std::uint32_t function = schedule.function_of(schedule.node(plan.block));
  const auto& old = *realize.block->body.as<BufferStore>();
  Substitution loops, axes;
  std::vector<For> copies;
  for (const LoopRV handle : plan.copied) {
    For copy = schedule.get(handle);
    const Ptr<Var> renamed =
        var(schedule.fresh_loop_name(function, copy.loop_var->name), copy.loop_var->dtype);
    loops[copy.loop_var] = renamed;
    copy.loop_var = renamed;
    copy.min = substitute(copy.min, loops);
    copy.extent = substitute(copy.extent, loops);
    copy.annotations = {};
    copies.push_back(std::move(copy));
  }
  Block block{.name_hint =
                  schedule.fresh_block_name(function, realize.block->name_hint + "_pad_const")};
  BlockRealize made{.predicate = substitute(realize.predicate, loops)};
  for (std::size_t k = 0; k < realize.iter_values.size(); ++k) {
    IterVar axis = *realize.block->iter_vars[k];
    const Ptr<Var> renamed = var(axis.var->name, axis.var->dtype);
    axes[axis.var] = renamed;
    axis.var = renamed;
    axis.dom = range(substitute(axis.dom->min, loops), substitute(axis.dom->extent, loops));
    block.iter_vars.push_back(make(std::move(axis)));
    made.iter_values.push_back(substitute(realize.iter_values[k], loops));
  }
  std::vector<Expr> indices;
  for (const Expr& index : old.indices) indices.push_back(substitute(index, axes));
  block.body = store(old.buffer, plan.constant, indices);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  made.block = make(std::move(block));
  Stmt nest = make(std::move(made));
  for (std::size_t i = copies.size(); i-- > 0;) {
    copies[i].body = std::move(nest);
    nest = make(std::move(copies[i]));
  }
  return nest;
}

/// What the two blocks do of the old one.
PartedBlock parted_by(const Schedule& schedule, const DecomposePaddingPlan& plan, const Block& old,
                      NodeId fill) {
  PartedBlock parted{plan.block, schedule.as<BlockRealize>(fill)->block};
  for (std::size_t k = 0; k < old.iter_vars.size(); ++k) {
    const Ptr<Var>& axis = old.iter_vars[k]->var;
    const auto shorter = std::ranges::find(plan.shortened, k, &InBoundLoop::axis);
    parted.first_axes.emplace_back(axis);
    parted.rest_axes.push_back(
        shorter == plan.shortened.end() ? Expr(axis) : axis - int_imm(axis->dtype, shorter->min));
  }
  return parted;
}

}  // namespace

Planned<DecomposePaddingPlan> plan_decompose_padding(const Schedule& schedule,
                                                     const DecomposePaddingArguments& arguments) {
  return PaddingPlanner(schedule, arguments).find();
}

BlockRV commit_decompose_padding(Schedule& schedule, DecomposePaddingPlan&& plan) {
  const NodeId node = schedule.node(plan.block);
  const SpanScope span(schedule.span_from(schedule.at(node).object->span));
  NodeId made = schedule.insert_before(schedule.node(plan.loop), constant_nest(schedule, plan));
  while (!schedule.as<BlockRealize>(made)) made = schedule.at(made).first_child;

  BlockRealize realize = schedule.realize(plan.block);
  const Ptr<Block> old = realize.block;
  Block block = *old;
  BufferStore store = *old->body.as<BufferStore>();
  store.value = plan.value;
  block.body = make(std::move(store));
  IndexForms forms;
  for (std::size_t k = 0; k < block.iter_vars.size(); ++k) {
    const auto shorter = std::ranges::find(plan.shortened, k, &InBoundLoop::axis);
    IterVar axis = *block.iter_vars[k];
    if (shorter != plan.shortened.end()) {
      const DataType type = axis.var->dtype;
      axis.var = var(axis.var->name, type);
      axis.dom = range(zero_of(type), int_imm(type, shorter->extent));
      if (shorter->extent > 0) forms.add_range({axis.var.get(), 0, shorter->extent - 1});
      forms.bind(block.iter_vars[k]->var, axis.var + int_imm(type, shorter->min));
      block.iter_vars[k] = make(std::move(axis));
    }
  }
  Substitution bindings;
  for (std::size_t k = 0; k < old->iter_vars.size(); ++k) {
    const auto shorter = std::ranges::find(plan.shortened, k, &InBoundLoop::axis);
    const Expr& value = realize.iter_values[k];
    bindings[old->iter_vars[k]->var] =
        shorter == plan.shortened.end() ? value : value + int_imm(value.dtype(), shorter->min);
  }
  block = with_axes_as(block, forms);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  realize.predicate = realize.predicate && substitute(plan.predicate, bindings);
  realize.block = make(std::move(block));
  schedule.report().parted = parted_by(schedule, plan, *old, made);
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  schedule.replace(schedule.node(plan.block), make(std::move(realize)), renewed);
  for (const InBoundLoop& shorter : plan.shortened) {
    For& loop = schedule.edit(shorter.loop);
    loop.extent = int_imm(loop.loop_var->dtype, shorter.extent);
  }
  return schedule.block_at(made);
}

}  // namespace loopsmith
