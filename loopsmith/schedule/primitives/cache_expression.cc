// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_expression.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/expression_replacement.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"

namespace loopsmith {
namespace {

bool is_choice(const Ref& node) {
  const auto* call = node.as<Call>();
  return node.is<IfThenElse>() || node.is<And>() || node.is<Or>() ||
         (call && call->op == op("if_then_else"));
}

/// Finds the largest expressions that read a buffer and use no variables but those that are known.
class ExpressionSearch {
 public:
  struct Found {
    Expr value;
    bool is_always_computed;
  };

  ExpressionSearch(const Buffer& buffer, const std::vector<Ptr<Var>>& known)
      : buffer_(buffer), known_(known.begin(), known.end()) {}

  std::vector<Found> find(const Stmt& body) && {
    look(body, /*is_guarded=*/false);
    return std::move(found_);
  }

 private:
  /// What is known of an expression.
  struct Part {
    bool is_known = true;  ///< A scalar that depends on nothing but what is known.
    bool reads = false;    ///< The buffer.
  };
  /// A child of a node.
  struct Inner {
    Expr value;  ///< Null for a statement.
    Part part;
    bool is_guarded;
  };

  Part look(const Ref& node, bool is_guarded) {
    auto& done = is_guarded ? guarded_ : unguarded_;
    if (const auto found = done.find(node.get()); found != done.end()) return found->second;
    const Part part = deep_call([&] { return look_inside(node, is_guarded); });
    done.emplace(node.get(), part);
    return part;
  }

  Part look_inside(const Ref& node, bool is_guarded) {
    if (node.is<Var>()) return {.is_known = known_.contains(node)};
    const Expr whole = is_expr(*node.get()) ? Expr::from(node) : Expr();
    Part part{.is_known = whole.defined() && whole.dtype().is_scalar()};
    if (const auto* load = node.as<BufferLoad>()) part.reads = load->buffer.get() == &buffer_;
    std::vector<Inner> inner;
    const auto add = [&](const Ref& child, bool is_skipped) {
      const bool is_inside = is_guarded || is_skipped;
      const Expr value = is_expr(*child.get()) ? Expr::from(child) : Expr();
      inner.push_back({value, look(child, is_inside), is_inside});
    };
    if (const auto* store = node.as<BufferStore>()) {
      add(store->value, false);
    } else {
      const bool may_be_skipped = node.is<For>() || node.is<While>();
      for_each_child(*node.get(), [&](const Ref& child, Role) {
        if (child.is<Buffer>()) return;
        add(child, may_be_skipped || (is_choice(node) && !inner.empty()));
      });
    }
    for (const Inner& each : inner) {
      part.is_known = part.is_known && each.part.is_known;
      part.reads = part.reads || each.part.reads;
    }
    if (!part.is_known) std::ranges::for_each(inner, [&](const Inner& each) { take(each); });
    return part;
  }

  void take(const Inner& inner) {
    if (!inner.value.defined() || !inner.part.is_known || !inner.part.reads) return;
    const auto same = std::ranges::find_if(
        found_, [&](const Found& other) { return structural_equal(other.value, inner.value); });
    if (same == found_.end()) {
      found_.push_back({inner.value, !inner.is_guarded});
    } else {
      same->is_always_computed = same->is_always_computed || !inner.is_guarded;
    }
  }

  const Buffer& buffer_;
  std::unordered_set<Ref, RefHash, RefEqual> known_;
  std::unordered_map<const Object*, Part> guarded_, unguarded_;
  std::vector<Found> found_;
};

/// The only expression that may be cached.
Planned<Expr> expression_of(const Schedule& schedule, const CacheExpressionPlan& plan) {
  const Block& block = schedule.get(plan.block);
  const Ptr<Buffer>& buffer = plan.subject.selected.buffer;
  // Outside of the statement before which the new block stands.
  std::vector<Ptr<Var>> known = free_variables(schedule.statement(plan.nest));
  for (const auto& axis : plan.axes) known.push_back(axis->var);
  const auto found = ExpressionSearch(*buffer, known).find(block.body);
  const Argument name(plan.block);
  if (found.empty()) return Refusal{&expression_is_there, {name, Argument(Ref(buffer))}};
  if (found.size() > 1) {
    return Refusal{&expression_is_unique,
                   {name, Argument(Ref(found[0].value)), Argument(Ref(found[1].value)),
                    Argument(Ref(buffer))}};
  }
  const Expr& value = found[0].value;
  if (!found[0].is_always_computed) {
    return changed_results(expression_is_always_computed, {name, Argument(Ref(value))});
  }
  if (!is_pure(value)) return changed_results(block_has_no_effects, {name});
  return value;
}

/// Refuses buffers that are reached otherwise than by their elements.
std::optional<Refusal> refuse_inputs(const Schedule& schedule, const CacheExpressionPlan& plan) {
  const NodeId scope = schedule.node(plan.subject.scope);
  for (const Ptr<Buffer>& buffer : free_buffers(plan.value)) {
    if (!uses_of(schedule, scope, buffer).by_indices_alone() ||
        owner_of(schedule, plan.nest, buffer) == no_node) {
      return Refusal{&buffer_is_used_by_index, {Argument(Ref(buffer))}};
    }
  }
  return {};
}

/// True when what the axes range over does not depend on loops around the block.
bool has_fixed_domains(const Schedule& schedule, const CacheExpressionPlan& plan) {
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(plan.block));
  return std::ranges::none_of(loops, [&](LoopRV loop) {
    const Ptr<Var>& variable = schedule.get(loop).loop_var;
    return std::ranges::any_of(plan.axes, [&](const auto& axis) {
      return uses_variable(axis->dom->min, variable) || uses_variable(axis->dom->extent, variable);
    });
  });
}

/// True when the nest runs the block for all values of the axes.
bool runs_for_all(const Schedule& schedule, const CacheExpressionPlan& plan) {
  const Instances instances = instances_of(schedule, plan.block);
  if (!instances.unknown.empty() || !instances.conditions.empty()) return false;
  return std::ranges::all_of(schedule.get(plan.block).iter_vars, [&](const auto& axis) {
    const bool is_of_value = std::ranges::any_of(
        plan.axes, [&](const auto& other) { return other->var.same_as(axis->var); });
    const std::int64_t* extent = as_int(axis->dom->extent);
    return is_of_value || (extent && *extent > 0);
  });
}

/// True when all that the expression reads, within the bounds of buffers, has a value, whether the
/// block runs or not: they are inputs, or what was written before.
bool can_always_be_read(const Schedule& schedule, const CacheExpressionPlan& plan) {
  const Block& block = schedule.get(plan.block);
  const NodeId scope = schedule.node(plan.subject.scope);
  const auto is_there = [&](const BufferLoad& load) {
    const auto subject = cache_subject_by_index(schedule, plan.block, BufferSelector(load.buffer),
                                                BufferSelector::Side::read, plan.storage_scope);
    const auto* known = std::get_if<CacheSubject>(&subject);
    const AffineRegion box = region_over_axes(block, *point_region(load.buffer, load.indices));
    const bool is_direct = std::ranges::none_of(
        load.indices, [](const Expr& index) { return reads_memory(Ref(index)); });
    return is_direct && known && may_read(schedule, *known, box) &&
           is_written_before(schedule, *known, box, {.at = plan.nest, .around = scope});
  };
  bool is = true;
  pre_order_visit(plan.value, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    is = is && !is_choice(ref) && (!load || is_there(*load));
    return is;
  });
  return is;
}

/// That the expression reads nothing beyond the bounds of buffers, but for what is known anyway.
Expr is_within_bounds(const CacheExpressionPlan& plan) {
  Analyzer analyzer;
  for (const auto& axis : plan.axes) analyzer.bind(axis->var, axis->dom);
  Expr within = true;
  const auto require_that = [&](const Expr& condition) {
    if (!analyzer.can_prove(condition)) within = within && condition;
  };
  pre_order_visit(plan.value, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    for (std::size_t i = 0; load && i < load->indices.size(); ++i) {
      const Expr& index = load->indices[i];
      require_that(zero_of(index.dtype()) <= index);
      require_that(index < load->buffer->shape[i]);
    }
    return true;
  });
  return within;
}

}  // namespace

Planned<CacheExpressionPlan> plan_cache_expression(const Schedule& schedule,
                                                   const CacheExpressionArguments& arguments) {
  const BlockRV block = arguments.block;
  auto subject = cache_subject_by_index(schedule, block, arguments.buffer_index,
                                        BufferSelector::Side::read, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&subject)) return std::move(*refusal);
  if (!child_blocks(schedule, schedule.node(block)).empty()) {
    return Refusal{&block_is_leaf, {Argument(block)}};
  }
  auto axes = axes_in_map(schedule, block, *arguments.index_map);
  if (auto* refusal = std::get_if<Refusal>(&axes)) return std::move(*refusal);
  CacheExpressionPlan plan{.block = block,
                           .subject = std::get<CacheSubject>(std::move(subject)),
                           .storage_scope = arguments.storage_scope,
                           .value = {},
                           .mapped = {},
                           .axes = std::get<std::vector<Ptr<IterVar>>>(std::move(axes))};
  plan.nest = nest_of(schedule, plan.subject.scope, block);
  auto value = expression_of(schedule, plan);
  if (auto* refusal = std::get_if<Refusal>(&value)) return std::move(*refusal);
  plan.value = std::get<Expr>(std::move(value));
  const auto is_used = [&](const Ptr<Var>& axis) { return uses_variable(plan.value, axis); };
  auto mapped = map_axes(schedule, block, *arguments.index_map, is_used);
  if (auto* refusal = std::get_if<Refusal>(&mapped)) return std::move(*refusal);
  plan.mapped = std::get<MappedIndices>(std::move(mapped));
  if (!has_fixed_domains(schedule, plan) ||
      !(runs_for_all(schedule, plan) || can_always_be_read(schedule, plan))) {
    return changed_results(instances_are_complete, {Argument(block)});
  }
  if (auto refusal = refuse_inputs(schedule, plan)) return *std::move(refusal);
  const NodeId scope = schedule.node(plan.subject.scope);
  plan.preservation = {scope, has_unchanged_inputs(schedule, plan.block, plan.value, plan.nest,
                                                   accesses_in_scope(schedule, scope))};
  return plan;
}

BlockRV commit_cache_expression(Schedule& schedule, CacheExpressionPlan&& plan) {
  const Expr condition = runs_for_all(schedule, plan) ? Expr(true) : is_within_bounds(plan);
  const std::uint32_t function = schedule.function_of(plan.nest);
  const SpanScope span(schedule.span_from(schedule.at(plan.nest).object->span));
  std::string suffix = plan.storage_scope;
  std::ranges::replace(suffix, '.', '_');
  const std::string name = fmt::format("{}_{}", plan.subject.selected.buffer->name, suffix);
  const Ptr<Buffer> values =
      decl_buffer(plan.mapped.shape, plan.value.dtype(), schedule.fresh_buffer_name(function, name),
                  plan.storage_scope);
  allocate_in(schedule, plan.subject.scope, values);

  BlockRealize realize = schedule.realize(plan.block);
  const Ptr<Block> before = realize.block;
  Block block = *before;
  Rewriter rewrite;
  replace_expressions(rewrite, [&](const Expr& expr) {
    return structural_equal(expr, plan.value) ? load(values, plan.mapped.indices) : Expr();
  });
  block.body = rewrite(block.body);
  realize.block = make(std::move(block));
  const Schedule::Renewed renewed{{before.get(), realize.block.get()}};
  schedule.replace(schedule.node(plan.block), make(std::move(realize)), renewed);
  update_regions(schedule, plan.block);

  std::vector<Ptr<Range>> domains;
  for (const auto& axis : plan.axes) domains.push_back(axis->dom);
  const AxesNest nest = axes_nest(schedule, function, domains);
  Substitution axes, loops;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    axes[plan.axes[i]->var] = nest.axes[i]->var;
    loops[plan.axes[i]->var] = nest.values[i];
  }
  std::vector<Expr> indices;
  for (const Expr& index : plan.mapped.indices) indices.push_back(substitute(index, axes));
  Block compute{.name_hint = schedule.fresh_block_name(function, values->name),
                .body = store(values, clone_with(plan.value, axes), indices)};
  const NodeId place =
      schedule.insert_before(nest_of(schedule, plan.subject.scope, plan.block),
                             nest_around(nest, std::move(compute), substitute(condition, loops)));
  const BlockRV made = block_inside(schedule, place);
  update_regions(schedule, made);
  PartedBlock parted{plan.block, schedule.realize(made).block};
  for (const auto& axis : plan.axes) parted.first_axes.emplace_back(axis->var);
  for (const auto& axis : before->iter_vars) parted.rest_axes.emplace_back(axis->var);
  schedule.report().parted = std::move(parted);
  return made;
}

}  // namespace loopsmith
