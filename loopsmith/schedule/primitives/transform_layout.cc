// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/transform_layout.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/rewrites/layout.h"

namespace loopsmith {
namespace {

Argument rank_of(const auto& dimensions) {
  return Argument(static_cast<std::int64_t>(dimensions.size()));
}

std::string list_of(const std::vector<Expr>& exprs) {
  std::vector<std::string> texts;
  for (const Expr& expr : exprs) texts.push_back(brief(expr));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What the new elements hold, in terms of the indices of `inverse`; null when it does not fit.
Expr pad_value_of(const Ref& given, const TransformLayoutPlan& plan) {
  Expr value = Expr::from(given);
  if (const auto* map = given.as<IndexMap>()) {
    const auto& indices = plan.inverse->initial_indices;
    if (map->initial_indices.size() != indices.size() || map->final_indices.size() != 1) return {};
    Substitution values;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      values[map->initial_indices[i]] = cast(map->initial_indices[i]->dtype, indices[i]);
    }
    value = substitute(map->final_indices[0], values);
  }
  if (!value.defined()) return {};
  const DataType type = plan.from->dtype;
  if (const std::int64_t* whole = as_int(value); whole && !type.is_bool()) {
    return const_of(type, static_cast<double>(*whole));
  }
  if (const double* real = as_float(value); real && type.is_float()) return const_of(type, *real);
  return value.dtype() == type && free_buffers(value).empty() ? value : Expr();
}

/// The statement of the scope in which a node is.
NodeId statement_of_scope(const Schedule& schedule, const TransformLayoutPlan& plan, NodeId node) {
  const NodeId body = schedule.at(plan.scope).first_child;
  return child_towards(schedule, node, schedule.as<SeqStmt>(body) ? body : plan.scope);
}

/// The block, if it writes every element of its buffer, and its loops and axes are the dimensions
/// in their order.
std::optional<BlockRV> row_major(const Schedule& schedule, BlockRV block,
                                 const TransformLayoutPlan& plan) {
  const BlockRealize& realize = schedule.realize(block);
  const Block& target = *realize.block;
  const auto* store = target.body.as<BufferStore>();
  const auto& shape = plan.from->shape;
  if (!store || target.init || !is_const_int(realize.predicate, 1)) return {};
  if (target.iter_vars.size() != shape.size() || target.writes.size() != 1) return {};
  if (reads_buffer(target, plan.from) || !store->buffer.same_as(plan.from)) return {};
  const auto loops = loops_around(schedule, schedule.node(block));
  if (loops.size() != shape.size()) return {};
  NodeId parent = schedule.at(statement_of_scope(schedule, plan, schedule.node(block))).parent;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const For& loop = schedule.get(loops[i]);
    const IterVar& axis = *target.iter_vars[i];
    const std::int64_t* extent = as_int(shape[i]);
    const bool is_whole = extent && is_const_int(axis.dom->extent, *extent) &&
                          is_const_int(axis.dom->min, 0) && is_const_int(loop.min, 0) &&
                          is_const_int(loop.step, 1) && is_const_int(loop.extent, *extent);
    const bool is_plain = loop.kind == ForKind::serial && loop.annotations.empty() &&
                          axis.iter_type == IterType::data_par &&
                          schedule.at(schedule.node(loops[i])).parent == parent;
    if (!is_whole || !is_plain || !realize.iter_values[i].same_as(loop.loop_var) ||
        !store->indices[i].same_as(axis.var)) {
      return {};
    }
    parent = schedule.node(loops[i]);
  }
  return schedule.at(schedule.node(block)).parent == parent ? std::optional(block) : std::nullopt;
}

/// The nest of the scope in which a statement of `node` writes the buffer; none where there is
/// none.
NodeId writing_nest(const Schedule& schedule, const TransformLayoutPlan& plan, NodeId node) {
  bool writes = false;
  pre_order_visit(Ref(schedule.at(node).object), [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    writes = writes || (store && store->buffer.same_as(plan.from));
    return !writes && !is_expr(*ref.get());
  });
  const NodeId body = schedule.at(plan.scope).first_child;
  const NodeId around = schedule.as<SeqStmt>(body) ? body : plan.scope;
  // What the scope itself declares is no statement in it.
  if (!writes || node == around || !is_inside(schedule, node, around)) return no_node;
  return statement_of_scope(schedule, plan, node);
}

/// Finds the statement that writes the buffer last.
void find_last_writer(const Schedule& schedule, TransformLayoutPlan& plan) {
  const auto note = [&](NodeId nest) {
    if (plan.last_writer == no_node || is_before(schedule, plan.last_writer, nest)) {
      plan.last_writer = nest;
    }
  };
  for (const BlockRV writer : writers_of(schedule, plan.scope, plan.from)) {
    note(statement_of_scope(schedule, plan, schedule.node(writer)));
  }
  // Statements that stand in no block write, too.
  for (const NodeId node : plan.uses.nodes) {
    const NodeId nest = writing_nest(schedule, plan, node);
    if (nest != no_node) note(nest);
  }
}

/// A nest over the new buffer: loops axis0, ..., axes v_axis0, ...
AxesNest new_nest(Schedule& schedule, const TransformLayoutPlan& plan) {
  std::vector<Ptr<Range>> domains;
  for (const Expr& extent : plan.to->shape)
    domains.push_back(range(zero_of(extent.dtype()), extent));
  return axes_nest(schedule, schedule.function_of(plan.owner), domains, "axis", "v_axis");
}

template <class Values>
Substitution indices_as(const IndexMap& map, const Values& values) {
  Substitution made;
  for (std::size_t i = 0; i < map.initial_indices.size(); ++i) {
    made[map.initial_indices[i]] = values[i];
  }
  return made;
}

std::vector<Ptr<Var>> variables_of(const AxesNest& nest) {
  std::vector<Ptr<Var>> variables;
  for (const auto& axis : nest.axes) variables.push_back(axis->var);
  return variables;
}

/// The producer's nest, over the new buffer.
void rebuild_producer(Schedule& schedule, const TransformLayoutPlan& plan) {
  const Ptr<Block> old = schedule.realize(*plan.producer).block;
  const AxesNest nest = new_nest(schedule, plan);
  const auto variables = variables_of(nest);
  const Substitution axes = indices_as(*plan.inverse, variables);
  Substitution values;
  for (std::size_t i = 0; i < old->iter_vars.size(); ++i) {
    const Ptr<Var>& axis = old->iter_vars[i]->var;
    values[axis] = cast(axis->dtype, substitute(plan.inverse->final_indices[i], axes));
  }
  const std::vector<Expr> indices(variables.begin(), variables.end());
  Block block = *old;
  for (auto& region : block.reads) {
    BufferRegion copy = *region;
    for (auto& side : copy.region) {
      side = range(substitute(side->min, values), substitute(side->extent, values));
    }
    region = make(std::move(copy));
  }
  block.writes = {point_region(plan.to, indices)};
  const Expr value = substitute(old->body.as<BufferStore>()->value, values);
  block.body =
      store(plan.to,
            if_then_else(substitute(plan.padding, axes), substitute(plan.pad_value, axes), value),
            indices);
  const NodeId place = statement_of_scope(schedule, plan, schedule.node(*plan.producer));
  Stmt made = nest_around(nest, std::move(block), Expr());
  Stmt inside = made;
  while (const auto* loop = inside.as<For>()) inside = loop->body;
  const Block* renewed = inside.as<BlockRealize>()->block.get();
  schedule.replace(place, std::move(made), {{old.get(), renewed}});
}

/// A nest that gives the new elements their value, or that assumes it of an input. Of memory that
/// no statement writes there is nothing to say.
void insert_padding(Schedule& schedule, const TransformLayoutPlan& plan) {
  const bool is_input = plan.last_writer == no_node;
  if (is_input && !schedule.as<PrimFunc>(plan.owner)) return;
  const AxesNest nest = new_nest(schedule, plan);
  const auto variables = variables_of(nest);
  const std::vector<Expr> indices(variables.begin(), variables.end());
  const Substitution axes = indices_as(*plan.inverse, variables);
  const Expr value = substitute(plan.pad_value, axes);
  Block block;
  const std::string name =
      fmt::format("buffer_{}_{}", plan.to->name, is_input ? "assumptions" : "padding");
  block.name_hint = schedule.fresh_block_name(schedule.function_of(plan.owner), name);
  Expr predicate;
  if (is_input) {
    const Expr holds = !substitute(plan.padding, axes) || load(plan.to, indices) == value;
    block.reads = {point_region(plan.to, indices)};
    block.body = make(Evaluate{.value = call(op("assume"), {holds})});
  } else {
    block.writes = {point_region(plan.to, indices)};
    block.body = store(plan.to, value, indices);
    predicate = substitute(plan.padding, indices_as(*plan.inverse, nest.loops));
  }
  Stmt stmt = nest_around(nest, std::move(block), predicate);
  if (!is_input) {
    schedule.insert_after(plan.last_writer, std::move(stmt));
    return;
  }
  const NodeId body = schedule.at(plan.scope).first_child;
  schedule.insert_before(schedule.as<SeqStmt>(body) ? schedule.at(body).first_child : body,
                         std::move(stmt));
}

/// True when elements that come to lie in one place are never needed at once, by the law: the new
/// buffer is a mirror of the old one, which is gone. A map that has an inverse gives each element a
/// place of its own, so that there is nothing to ask; what others see needs such a map.
bool keeps_values(const Schedule& schedule, const TransformLayoutPlan& plan) {
  if (schedule.as<PrimFunc>(plan.owner)) return false;
  TransformLayoutPlan apart = plan;
  Buffer copy = *plan.to;
  copy.data = var(copy.name, copy.data->dtype);  // A mirror is another memory.
  apart.to = make(std::move(copy));
  Schedule after = schedule.snapshot();
  after.report() = {};
  after.report().mirrors.push_back({apart.from, apart.to});
  commit_transform_layout(after, std::move(apart));
  return !refuse_changed_results(schedule, after, {plan.owner});
}

}  // namespace

Planned<TransformLayoutPlan> plan_layout(const Schedule& schedule, const LayoutRequest& request) {
  TransformLayoutPlan plan{.from = request.buffer};
  const Ptr<Buffer>& from = plan.from;
  const Argument buffer{Ref(from)};
  plan.owner = owner_of(schedule, request.node, from);
  if (plan.owner == no_node) return Refusal{&buffer_has_no_views, {buffer}};
  const NodeId body = schedule.at(plan.owner).first_child;
  const bool has_root = schedule.as<PrimFunc>(plan.owner) && body != no_node &&
                        schedule.as<BlockRealize>(body) != nullptr;
  plan.scope = has_root ? body : plan.owner;
  plan.uses = uses_of(schedule, plan.owner, from);
  if (plan.uses.by_view) return Refusal{&buffer_has_no_views, {buffer}};
  if (plan.uses.by_pointer || plan.uses.by_callee || plan.uses.by_vector) {
    return Refusal{&buffer_is_used_by_index, {buffer}};
  }
  if (!from->strides.empty() || from->elem_offset.defined() || !from->axis_separators.empty()) {
    return Refusal{&buffer_is_compact, {buffer}};
  }
  if (request.map.initial_indices.size() != from->shape.size()) {
    return Refusal{&index_map_fits,
                   {rank_of(request.map.initial_indices), Argument("buffer"), buffer,
                    rank_of(from->shape), Argument("dimensions")}};
  }
  const DataType type = widest_index(from->shape);
  std::vector<Expr> shape;
  for (const Expr& extent : from->shape) shape.push_back(cast(type, extent));
  plan.index_map = with_index_type(request.map, type);
  Analyzer analyzer;
  Buffer to = *from;
  const auto refused = [&](const UserError& error) {
    return Refusal{&index_map_is_injective, {buffer, Argument(error.problem())}};
  };
  auto image = map_shape(*plan.index_map, shape, analyzer);
  if (!image) return refused(image.error());
  to.shape = std::move(*image);
  plan.to = make(std::move(to));
  if (!request.assume_injective) {
    std::vector<Ptr<Range>> domain;
    for (const Expr& extent : shape) domain.push_back(range(zero_of(type), extent));
    const auto back = non_surjective_inverse(*plan.index_map, domain, analyzer);
    if (!back && !keeps_values(schedule, plan)) return refused(back.error());
    if (back && !is_const_int(back->padding, 0)) {
      plan.inverse = back->map;
      plan.padding = back->padding;
    }
  }
  if (!plan.inverse) return plan;
  if (!request.pad_value) {
    return Refusal{&padding_has_a_value,
                   {buffer, Argument(list_of(plan.to->shape)), Argument(brief(plan.padding))}};
  }
  plan.pad_value = pad_value_of(request.pad_value->value, plan);
  if (!plan.pad_value.defined()) {
    return Refusal{&pad_value_fits,
                   {Argument(request.pad_value->value), buffer, Argument(to_string(from->dtype))}};
  }
  find_last_writer(schedule, plan);
  return plan;
}

Planned<TransformLayoutPlan> plan_transform_layout(const Schedule& schedule,
                                                   const TransformLayoutArguments& arguments) {
  const auto selected =
      select_buffer(schedule.get(arguments.block), arguments.buffer, BufferSelector::Side::write);
  if (!selected) {
    return Refusal{&block_has_the_buffer, {Argument(arguments.block), Argument("uses")}};
  }
  const NodeId node = schedule.node(arguments.block);
  auto planned = plan_layout(schedule, {node, selected->buffer, *arguments.index_map,
                                        arguments.pad_value, arguments.assume_injective_transform});
  auto* plan = std::get_if<TransformLayoutPlan>(&planned);
  if (!plan) return planned;
  if (plan->scope == node || !schedule.as<BlockRealize>(plan->scope)) {
    return Refusal{&block_stands_in_a_block, {Argument(arguments.block)}};
  }
  const auto writers = writers_of(schedule, plan->scope, plan->from);
  if (plan->inverse && writers.size() == 1) {
    plan->producer = row_major(schedule, writers[0], *plan);
  }
  return planned;
}

std::size_t dimension_count(const Schedule& schedule, const TransformLayoutArguments& arguments) {
  const auto selected =
      select_buffer(schedule.get(arguments.block), arguments.buffer, BufferSelector::Side::write);
  return selected ? selected->buffer->shape.size() : 0;
}

Nothing commit_transform_layout(Schedule& schedule, TransformLayoutPlan&& plan) {
  const SpanScope span(schedule.span_from(schedule.at(plan.scope).object->span));
  change_accesses(schedule, plan.uses, layout_change(plan.from, plan.to, plan.index_map));
  replace_definition(schedule, plan.owner, plan.from, plan.to);
  if (!plan.inverse) return {};
  if (plan.producer) {
    rebuild_producer(schedule, plan);
  } else {
    insert_padding(schedule, plan);
  }
  return {};
}

}  // namespace loopsmith
