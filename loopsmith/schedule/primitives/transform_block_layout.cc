// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/transform_block_layout.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/rewrites/axis_rewrite.h"
#include "loopsmith/schedule/rewrites/cache_block.h"
#include "loopsmith/schedule/rewrites/layout.h"

namespace loopsmith {
namespace {

/// True when the loops around a block are plain, nested without anything between, and its axes.
bool loops_are_axes(const Schedule& schedule, BlockRV block, const Handles<LoopRV>& loops) {
  const BlockRealize& realize = schedule.realize(block);
  const auto& axes = realize.block->iter_vars;
  if (loops.empty() || loops.size() != axes.size() || !is_const_int(realize.predicate, 1)) {
    return false;
  }
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const For& loop = schedule.get(loops[i]);
    const NodeId inner = i + 1 < loops.size() ? schedule.node(loops[i + 1]) : schedule.node(block);
    const bool is_axis = realize.iter_values[i].same_as(loop.loop_var) &&
                         is_const_int(axes[i]->dom->min, 0) &&
                         structural_equal(axes[i]->dom->extent, loop.extent);
    const bool is_plain = loop.kind == ForKind::serial && loop.annotations.empty() &&
                          is_const_int(loop.min, 0) && is_const_int(loop.step, 1);
    if (!is_axis || !is_plain || schedule.at(inner).parent != schedule.node(loops[i])) return false;
  }
  return true;
}

/// The type of the axes that a new one is made of; nullopt when there are several.
std::optional<IterType> type_of(const Expr& index, const IndexMap& map, const Block& block) {
  std::optional<IterType> type;
  for (std::size_t i = 0; i < map.initial_indices.size(); ++i) {
    if (!uses_variable(index, map.initial_indices[i])) continue;
    const IterType other = block.iter_vars[i]->iter_type;
    if (type && *type != other) return {};
    type = other;
  }
  return type.value_or(IterType::data_par);
}

/// True when the reduction axes stay what they are, in their order.
bool keeps_reduced_axes(const IndexMap& map, const Block& block) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i]->iter_type != IterType::comm_reduce) continue;
    const Ptr<Var>& axis = map.initial_indices[i];
    while (next < map.final_indices.size() && !uses_variable(map.final_indices[next], axis)) {
      const bool is_spatial = type_of(map.final_indices[next], map, block) == IterType::data_par;
      if (!is_spatial) return false;
      ++next;
    }
    if (next == map.final_indices.size() || !map.final_indices[next].same_as(axis)) return false;
    ++next;
  }
  return true;
}

}  // namespace

Planned<TransformBlockLayoutPlan> plan_transform_block_layout(
    const Schedule& schedule, const TransformBlockLayoutArguments& arguments) {
  const Block& block = schedule.get(arguments.block);
  const auto loops = loops_around(schedule, schedule.node(arguments.block));
  if (!loops_are_axes(schedule, arguments.block, loops)) {
    return Refusal{&loops_are_the_axes, {Argument(arguments.block)}};
  }
  for (const LoopRV loop : loops) {
    const Ptr<Var>& variable = schedule.get(loop).loop_var;
    const bool changes_domains = std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
      return uses_variable(axis->dom->extent, variable);
    });
    if (changes_domains) return Refusal{&loops_are_the_axes, {Argument(arguments.block)}};
  }
  const std::size_t count = arguments.index_map->initial_indices.size();
  if (count != block.iter_vars.size()) {
    return Refusal{
        &index_map_fits,
        {Argument(static_cast<std::int64_t>(count)), Argument("block"), Argument(arguments.block),
         Argument(static_cast<std::int64_t>(block.iter_vars.size())), Argument("axes")}};
  }
  std::vector<Expr> axes;
  for (const auto& axis : block.iter_vars) axes.push_back(axis->var);
  const DataType type = widest_index(axes);
  const Ptr<IndexMap> map = with_index_type(*arguments.index_map, type);
  TransformBlockLayoutPlan plan{.block = arguments.block, .nest = schedule.node(loops[0])};
  std::vector<Ptr<Range>> domains;
  for (const auto& axis : block.iter_vars) {
    domains.push_back(range(cast(type, axis->dom->min), cast(type, axis->dom->extent)));
  }
  Analyzer analyzer;
  const auto back = inverse(*map, domains, analyzer);
  if (!back) return Refusal{&map_is_bijective, {Argument(back.error().problem())}};
  const auto image = map_ranges(*map, domains, analyzer);
  if (!image) return Refusal{&map_is_bijective, {Argument(image.error().problem())}};
  plan.inverse = *back;
  plan.domains = *image;
  for (std::size_t i = 0; i < map->final_indices.size(); ++i) {
    const auto type = type_of(map->final_indices[i], *map, block);
    if (!type) {
      return Refusal{&axis_is_of_one_type,
                     {Argument(static_cast<std::int64_t>(i)), Argument(arguments.block)}};
    }
    plan.types.push_back(*type);
  }
  if (!keeps_reduced_axes(*map, block)) {
    plan.reordered_reduction = rounding_reduction(schedule, arguments.block);
  }
  return plan;
}

Nothing commit_transform_block_layout(Schedule& schedule, TransformBlockLayoutPlan&& plan) {
  const Ptr<Block> old = schedule.realize(plan.block).block;
  const SpanScope span(schedule.span_from(schedule.at(plan.nest).object->span));
  AxesNest nest = axes_nest(schedule, schedule.function_of(plan.nest), plan.domains);
  Substitution axes;
  IndexForms forms;
  for (std::size_t i = 0; i < nest.axes.size(); ++i) {
    IterVar axis = *nest.axes[i];
    axis.iter_type = plan.types[i];
    nest.axes[i] = make(std::move(axis));
    axes[plan.inverse->initial_indices[i]] = nest.axes[i]->var;
    const std::int64_t* min = as_int(plan.domains[i]->min);
    const std::int64_t* extent = as_int(plan.domains[i]->extent);
    if (min && extent && *extent > 0) {
      forms.add_range({nest.axes[i]->var.get(), *min, *min + *extent - 1});
    }
  }
  for (std::size_t i = 0; i < old->iter_vars.size(); ++i) {
    const Ptr<Var>& axis = old->iter_vars[i]->var;
    forms.bind(axis, cast(axis->dtype, substitute(plan.inverse->final_indices[i], axes)));
  }

  Block block = with_axes_as(*old, forms);
  Stmt made = nest_around(nest, std::move(block), Expr());
  Stmt inside = made;
  while (const auto* loop = inside.as<For>()) inside = loop->body;
  const Block* renewed = inside.as<BlockRealize>()->block.get();
  schedule.replace(plan.nest, std::move(made), {{old.get(), renewed}});
  return {};
}

}  // namespace loopsmith
