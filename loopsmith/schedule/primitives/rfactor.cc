// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rfactor.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/rfactor_nests.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

Ptr<IterVar> axis_of(const Ptr<Var>& var, const Ptr<Range>& domain, IterType type) {
  return make(IterVar{.dom = domain, .var = var, .iter_type = type});
}

std::vector<Expr> inserted(std::vector<Expr> list, std::size_t place, const Expr& item) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), item);
  return list;
}

void find_regions(Block& block) {
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
}

/// Annotations for a second block: variables are defined once, so its reducer has its own.
Attrs with_own_reducer(const Attrs& annotations) {
  const auto declared = Ptr<CommReducer>::from(annotations.get(reducer_annotation));
  if (!declared.defined()) return annotations;
  CommReducer own = *declared;
  Substitution renewed;
  for (auto* side : {&own.lhs, &own.rhs}) {
    for (Ptr<Var>& operand : *side) {
      const Ptr<Var> fresh = var(operand->name, operand->dtype);
      renewed[operand] = fresh;
      operand = fresh;
    }
  }
  for (Expr& value : own.result) value = clone_with(value, renewed);
  return annotations.with(reducer_annotation, make(std::move(own)));
}

/// The two blocks that one becomes.
class Factoring {
 public:
  Factoring(Schedule& schedule, const RfactorPlan& plan)
      : schedule_(schedule),
        plan_(plan),
        realize_(schedule.realize(plan.block)),
        old_(realize_.block),
        loop_(schedule.get(plan.loop)) {
    const std::uint32_t function = schedule.function_of(schedule.node(plan.block));
    const Expr count = dimension_for(schedule, function, loop_.extent);
    for (const Ptr<Buffer>& buffer : plan.reduction.buffers) {
      partial_.push_back(decl_buffer(inserted(buffer->shape, plan.axis, count), buffer->dtype,
                                     schedule.fresh_buffer_name(function, buffer->name + "_rf"),
                                     std::string(buffer->scope())));
    }
  }

  const std::vector<Ptr<Buffer>>& partial() const { return partial_; }

  /// The block that computes partial results, in terms of `loops`, which stand for the old ones.
  Stmt partial_block(const Substitution& loops) {
    Block block{.name_hint = schedule_.fresh_block_name(
                    schedule_.function_of(schedule_.node(plan_.block)), old_->name_hint + "_rf"),
                .annotations = with_own_reducer(old_->annotations)};
    BlockRealize realize;
    Substitution axes;
    Substitution of_loops;  // Loops as axes: those of the axes that are divided, and others' own.
    const auto add = [&](const Ptr<IterVar>& axis, const Expr& binding) {
      block.iter_vars.push_back(axis);
      realize.iter_values.push_back(substitute(binding, loops));
    };
    const Ptr<Var> own = var("v" + loop_.loop_var->name, loop_.loop_var->dtype);
    add(axis_of(own, range(loop_.min, loop_.extent), IterType::data_par), loop_.loop_var);
    of_loops[loop_.loop_var] = own;
    for (std::size_t i = 0; i < old_->iter_vars.size(); ++i) {
      const IterVar& axis = *old_->iter_vars[i];
      const Expr& binding = realize_.iter_values[i];
      if (!uses_variable(binding, loop_.loop_var)) {
        const Ptr<Var> renewed = var(axis.var->name, axis.var->dtype);
        axes[axis.var] = renewed;
        add(axis_of(renewed, axis.dom, axis.iter_type), binding);
        if (binding.is<Var>()) of_loops[Ptr<Var>::from(binding)] = renewed;
        continue;
      }
      for (const LoopRV handle : plan_.dropped) {
        const For& rest = schedule_.get(handle);
        if (!uses_variable(binding, rest.loop_var) || of_loops.contains(rest.loop_var)) continue;
        const Ptr<Var> part = var("v" + rest.loop_var->name, rest.loop_var->dtype);
        of_loops[rest.loop_var] = part;
        add(axis_of(part, range(rest.min, rest.extent), IterType::comm_reduce), rest.loop_var);
      }
      axes[axis.var] = cast(axis.var->dtype, substitute(binding, of_loops));
    }
    const Expr place = own - loop_.min;
    block.body = on_partial(body(of_loops), place, axes);
    block.init = on_partial(init(), place, axes);
    find_regions(block);
    for (const Expr& condition : arith::conjuncts(realize_.predicate)) {
      const bool is_mask = std::ranges::any_of(
          plan_.masks, [&](const Expr& mask) { return mask.same_as(condition); });
      if (!is_mask) realize.predicate = realize.predicate && substitute(condition, loops);
    }
    realize.block = make(std::move(block));
    return make(std::move(realize));
  }

  /// The block that combines them: what is left of the old one.
  Stmt combining_block() {
    const Ptr<Var> own = var("v" + loop_.loop_var->name, loop_.loop_var->dtype);
    Block block = *old_;
    if (block.init) block.init = started_init();
    BlockRealize realize;
    block.iter_vars = {axis_of(own, range(loop_.min, loop_.extent), IterType::comm_reduce)};
    realize.iter_values = {loop_.loop_var};
    for (std::size_t i = 0; i < old_->iter_vars.size(); ++i) {
      if (old_->iter_vars[i]->iter_type != IterType::data_par) continue;
      block.iter_vars.push_back(old_->iter_vars[i]);
      realize.iter_values.push_back(realize_.iter_values[i]);
    }
    const KnownReduction& reduction = plan_.reduction;
    std::vector<Expr> left, right;
    for (std::size_t i = 0; i < partial_.size(); ++i) {
      left.push_back(load(reduction.buffers[i], reduction.indices));
      right.push_back(load(partial_[i], inserted(reduction.indices, plan_.axis, own - loop_.min)));
    }
    block.body = stores(combined(reduction, left, right));
    find_regions(block);
    const Expr is_empty = nothing_to_reduce();
    for (const Expr& condition : plan_.conditions) {
      realize.predicate = realize.predicate && condition;
    }
    for (const Expr& condition : plan_.start_conditions) {
      realize.predicate =
          realize.predicate && (is_empty.defined() ? condition || is_empty : condition);
    }
    realize.block = make(std::move(block));
    renewed_ = {{old_.get(), realize.block.get()}};
    return make(std::move(realize));
  }
  const Schedule::Renewed& renewed() const { return renewed_; }

 private:
  /// The condition that a loop of the partial results has no iteration: then each of them is what
  /// the init gives, and they are combined all the same. Undefined where all loops have some.
  Expr nothing_to_reduce() const {
    Expr is_empty;
    for (const LoopRV handle : plan_.dropped) {
      const Expr& extent = schedule_.get(handle).extent;
      const std::int64_t* number = as_int(extent);
      if (number && *number > 0) continue;
      const Expr is_none = extent <= int_imm(extent.dtype(), 0);
      is_empty = is_empty.defined() ? is_empty || is_none : is_none;
    }
    return is_empty;
  }

  /// `buffers[indices] = values`; all are computed before the first is stored.
  Stmt stores(const std::vector<Expr>& values) const {
    const KnownReduction& reduction = plan_.reduction;
    if (values.size() == 1) return store(reduction.buffers[0], values[0], reduction.indices);
    std::vector<Stmt> all;
    std::vector<Ptr<Var>> variables;
    for (std::size_t i = 0; i < values.size(); ++i) {
      variables.push_back(var(fmt::format("v_{}_{}", old_->name_hint, i), values[i].dtype()));
      all.push_back(store(reduction.buffers[i], variables[i], reduction.indices));
    }
    Stmt body = seq(std::move(all));
    for (std::size_t i = values.size(); i-- > 0;) {
      body = make(LetStmt{.value = values[i], .var = variables[i], .body = std::move(body)});
    }
    return body;
  }

  /// What a step does, in terms of the old axes and, in masks, of those that `of_loops` gives.
  Stmt body(const Substitution& of_loops) const {
    if (plan_.masks.empty()) return old_->body;
    const KnownReduction& reduction = plan_.reduction;
    Expr mask = int_imm(boolean, 1);
    for (const Expr& each : plan_.masks) mask = mask && substitute(each, of_loops);
    std::vector<Expr> left, right;
    for (const Ptr<Buffer>& buffer : reduction.buffers) {
      left.push_back(load(buffer, reduction.indices));
    }
    const std::vector<Expr> neutral = idle_values(left);
    for (std::size_t i = 0; i < left.size(); ++i) {
      right.push_back(if_then_else(mask, reduction.sources[i], neutral[i]));
    }
    return stores(combined(reduction, left, right));
  }

  /// What changes no partial result. Combined with what they start from, they stay, too.
  std::vector<Expr> idle_values(const std::vector<Expr>& left) const {
    const KnownReduction& reduction = plan_.reduction;
    const Stmt step = stores(combined(reduction, left, reduction.sources));
    const auto* single = step.as<BufferStore>();
    const auto accumulation = single ? accumulation_of(*single) : std::nullopt;
    if (accumulation && !single->value.dtype().is_float8()) {
      return {neutral_element(accumulation->combiner, single->value.dtype())};
    }
    return neutral_of(reduction).value_or(reduction.init);
  }

  /// The init of the block, which runs where axes of the reduction are at their start.
  Stmt started_init() const {
    Substitution starts;
    for (const Ptr<IterVar>& axis : old_->iter_vars) {
      if (axis->iter_type == IterType::comm_reduce) starts[axis->var] = axis->dom->min;
    }
    return substitute(old_->init, starts);
  }

  /// What partial results start from.
  Stmt init() const {
    const KnownReduction& reduction = plan_.reduction;
    const auto neutral = neutral_of(reduction);
    if (!neutral && old_->init) return started_init();
    const std::vector<Expr> values = neutral.value_or(reduction.init);
    std::vector<Stmt> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all.push_back(store(reduction.buffers[i], values[i], reduction.indices));
    }
    return seq(std::move(all));
  }

  /// A piece of the block's body, done to partial results.
  Stmt on_partial(const Stmt& stmt, const Expr& place, const Substitution& axes) const {
    Rewriter rewrite;
    const auto moved = [&](auto access) {
      const auto& buffers = plan_.reduction.buffers;
      // Other elements of these are read where they are.
      if (!are_same_indices(access.indices, plan_.reduction.indices))
        return make(std::move(access));
      const auto found = std::ranges::find_if(
          buffers, [&](const auto& buffer) { return buffer.same_as(access.buffer); });
      if (found != buffers.end()) {
        access.buffer = partial_[static_cast<std::size_t>(found - buffers.begin())];
        access.indices = inserted(std::move(access.indices), plan_.axis, place);
      }
      return make(std::move(access));
    };
    rewrite.on<BufferLoad>(
        [&](const BufferLoad& node) -> Expr { return moved(BufferLoad(*rewrite.children(node))); });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      return moved(BufferStore(*rewrite.children(node)));
    });
    return clone_with(rewrite(stmt), axes);
  }

  Schedule& schedule_;
  const RfactorPlan& plan_;
  const BlockRealize realize_;
  const Ptr<Block> old_;
  const For loop_;
  std::vector<Ptr<Buffer>> partial_;
  Schedule::Renewed renewed_;
};

}  // namespace

BlockRV commit_rfactor(Schedule& schedule, RfactorPlan&& plan) {
  const NodeId node = schedule.node(plan.block);
  const NodeId top = schedule.node(plan.path[0]);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.realize(plan.block).span));
  Factoring factoring(schedule, plan);

  const FactoredNest factored{plan.block, plan.path, plan.dropped};
  Stmt nest = nest_of_partial_results(
      schedule, factored,
      [&](std::string_view name) { return schedule.fresh_loop_name(function, name); },
      [&](const Substitution& loops) { return factoring.partial_block(loops); });
  // What combines goes where the block was; loops of the rest of the reduction are left out there.
  auto [outermost, inner] = nest_of_combination(schedule, factored, factoring.combining_block());
  const bool is_whole = outermost == top;
  const NodeId made = schedule.replace(outermost, std::move(inner), factoring.renewed());
  NodeId first = schedule.insert_before(is_whole ? made : top, std::move(nest));
  while (!schedule.as<BlockRealize>(first)) first = schedule.at(first).first_child;
  const BlockRV scope = *block_around(schedule, first);
  for (const Ptr<Buffer>& buffer : factoring.partial()) allocate_in(schedule, scope, buffer);
  return schedule.block_at(first);
}

}  // namespace loopsmith
