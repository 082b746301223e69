// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reindex.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"

namespace loopsmith {
namespace {

/// The lists of indices with which a block accesses a buffer, without repetition.
std::vector<std::vector<Expr>> accesses_of(const Block& block, const Ptr<Buffer>& buffer) {
  std::vector<std::vector<Expr>> found;
  const auto add = [&](const std::vector<Expr>& indices) {
    const bool is_known = std::ranges::any_of(found, [&](const auto& other) {
      return std::ranges::equal(other, indices, StructuralEqual());
    });
    if (!is_known) found.push_back(indices);
  };
  const auto look = [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    const auto* store = ref.as<BufferStore>();
    if (load && load->buffer.same_as(buffer)) add(load->indices);
    if (store && store->buffer.same_as(buffer)) add(store->indices);
    return true;
  };
  pre_order_visit(block.body, look);
  if (block.init) pre_order_visit(block.init, look);
  return found;
}

bool is_used(const std::vector<Expr>& indices, const Ptr<Var>& variable) {
  return std::ranges::any_of(indices,
                             [&](const Expr& index) { return uses_variable(index, variable); });
}

/// True when the axes alone tell the indices.
bool are_of_axes(const std::vector<Expr>& indices, const Block& block) {
  return std::ranges::all_of(indices, [&](const Expr& index) {
    const bool is_function = index.dtype().is_scalar() && !reads_memory(index);
    return is_function && std::ranges::all_of(free_variables(index), [&](const auto& variable) {
             return std::ranges::any_of(
                 block.iter_vars, [&](const auto& axis) { return axis->var.same_as(variable); });
           });
  });
}

/// Blocks that use the buffer and stand in the statement of the scope that holds `plan.block`.
std::optional<BlockRV> neighbour(const Schedule& schedule, const ReindexPlan& plan) {
  const auto stands_there = [&](BlockRV other) {
    return other.index != plan.block.index && is_inside(schedule, schedule.node(other), plan.nest);
  };
  const auto& [scope, selected, readers, writers] = plan.subject;
  const auto writer = std::ranges::find_if(writers, stands_there);
  if (writer != writers.end()) return *writer;
  if (!selected.is_write) return {};
  const auto reader = std::ranges::find_if(readers, stands_there);
  return reader == readers.end() ? std::nullopt : std::optional(*reader);
}

/// True when a condition decides, inside of a statement, whether the block runs.
bool is_under_condition(const Schedule& schedule, BlockRV block, NodeId inside) {
  for (NodeId at = schedule.at(schedule.node(block)).parent; at != inside && at != no_node;
       at = schedule.at(at).parent) {
    const auto* branch = schedule.as<IfThenElse>(at);
    if (branch && !is_const_int(branch->condition, 1)) return true;
  }
  return false;
}

/// Puts the copy into the loops that the block shares with others that use the buffer, for the
/// values that axes have there; false where some axis is neither told by these loops nor free of
/// them.
bool copy_in_common_loops(const Schedule& schedule, ReindexPlan& plan) {
  const auto& [scope, selected, readers, writers] = plan.subject;
  const Handles<BlockRV> self{plan.block};
  Handles<BlockRV> others = readers;
  others.insert(others.end(), writers.begin(), writers.end());
  std::erase_if(others, [&](BlockRV other) { return other == plan.block; });
  auto place = selected.is_write ? place_after(schedule, scope, selected.buffer, self, others)
                                 : place_before(schedule, scope, selected.buffer, self, writers);
  if (std::holds_alternative<Refusal>(place)) return false;
  plan.place = std::get<CopyPlace>(place);
  const BlockRealize& realize = schedule.realize(plan.block);
  if (!is_const_int(realize.predicate, 1)) return false;
  // Values of axes beyond their domains would be copied, too.
  if (is_under_condition(schedule, plan.block, plan.place.around)) return false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const auto& axis = realize.block->iter_vars[i];
    const auto place_of =
        std::ranges::find_if(plan.axes, [&](const auto& used) { return used.same_as(axis); });
    if (place_of == plan.axes.end()) continue;
    bool is_told = true, is_free = true;
    for (const LoopRV loop : loops_around(schedule, schedule.node(plan.block))) {
      if (!uses_variable(realize.iter_values[i], schedule.get(loop).loop_var)) continue;
      const bool is_shared = is_inside(schedule, plan.place.around, schedule.node(loop));
      (is_shared ? is_free : is_told) = false;
    }
    if (!is_told && !is_free) return false;
    if (!is_free) plan.fixed[place_of - plan.axes.begin()] = realize.iter_values[i];
  }
  return true;
}

/// All but the indices in the copy.
Planned<ReindexPlan> plan_access(const Schedule& schedule, BlockRV handle,
                                 const BufferSelector& selector, BufferSelector::Side side,
                                 std::string_view storage_scope) {
  auto found = cache_subject_by_index(schedule, handle, selector, side, storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  ReindexPlan plan{.block = handle, .subject = std::get<CacheSubject>(std::move(found))};
  const Block& block = schedule.get(handle);
  const Ptr<Buffer>& buffer = plan.subject.selected.buffer;
  const Refusal unique{&indices_are_unique, {Argument(handle), Argument(Ref(buffer))}};
  if (!child_blocks(schedule, schedule.node(handle)).empty()) {
    return Refusal{&block_is_leaf, {Argument(handle)}};
  }
  auto accesses = accesses_of(block, buffer);
  if (accesses.size() != 1) return unique;
  plan.indices = std::move(accesses[0]);
  if (!are_of_axes(plan.indices, block)) {
    return Refusal{&indices_are_of_axes, {Argument(handle), Argument(Ref(buffer))}};
  }
  for (const auto& axis : block.iter_vars) {
    if (is_used(plan.indices, axis->var)) plan.axes.push_back(axis);
  }
  // The copy is as large as the domains, wherever it stands.
  for (const LoopRV loop : loops_around(schedule, schedule.node(handle))) {
    const Ptr<Var>& variable = schedule.get(loop).loop_var;
    const bool is_inside = std::ranges::any_of(plan.axes, [&](const auto& axis) {
      return uses_variable(axis->dom->min, variable) || uses_variable(axis->dom->extent, variable);
    });
    if (is_inside) return changed_results(instances_are_complete, {Argument(handle)});
  }
  plan.fixed.resize(plan.axes.size());
  plan.nest = nest_of(schedule, plan.subject.scope, handle);
  const NodeId scope = schedule.node(plan.subject.scope);
  const ScopeAccesses uses = accesses_in_scope(schedule, scope);
  const bool is_write = plan.subject.selected.is_write;
  const bool is_proved =
      is_write ? computes_throughout(schedule, plan.subject, handle, plan.nest, plan.axes, uses) &&
                     is_used_apart_from(schedule, *buffer, plan.nest, uses)
               : is_unchanged_for(schedule, *buffer, std::span(&handle, 1), plan.nest, uses);
  plan.preservation = {scope, is_proved};
  plan.place = {.at = plan.nest, .around = scope, .is_after = is_write};
  if (reads_buffer(block, buffer) && writes_buffer(block, buffer)) {
    return changed_results(consumer_does_not_write, {Argument(handle), Argument(Ref(buffer))});
  }
  if (const auto other = neighbour(schedule, plan)) {
    if (!copy_in_common_loops(schedule, plan)) {
      return Refusal{&nest_stands_alone,
                     {Argument(*other), Argument(Ref(buffer)), Argument(handle)}};
    }
    plan.preservation->is_proved = false;
  }
  // What is certain to be read has a value; of the rest, the copy must know.
  if (!is_write && !is_read_throughout(schedule, plan.nest, handle, buffer, plan.axes)) {
    const bool is_apart = plan.place.at == plan.nest;
    const AffineRegion box =
        is_apart ? region_over_axes(block, *point_region(buffer, plan.indices))
                 : read_region(schedule, buffer, Handles<BlockRV>{handle}, plan.place.around);
    if (!may_read(schedule, plan.subject, box) ||
        !is_written_before(schedule, plan.subject, box, plan.place)) {
      return changed_results(copied_elements_are_written,
                             {Argument(Ref(buffer)), Argument(handle)});
    }
  }
  return plan;
}

Planned<ReindexPlan> plan_mapped(const Schedule& schedule, const ReindexCacheArguments& arguments,
                                 BufferSelector::Side side) {
  auto planned =
      plan_access(schedule, arguments.block, arguments.buffer_index, side, arguments.storage_scope);
  if (std::holds_alternative<Refusal>(planned)) return planned;
  auto& plan = std::get<ReindexPlan>(planned);
  auto mapped = map_axes(schedule, arguments.block, *arguments.index_map,
                         [&](const Ptr<Var>& axis) { return is_used(plan.indices, axis); });
  if (auto* refusal = std::get_if<Refusal>(&mapped)) return std::move(*refusal);
  auto& [indices, shape] = std::get<MappedIndices>(mapped);
  plan.copied = std::move(indices);
  plan.shape = std::move(shape);
  plan.storage_scope = arguments.storage_scope;
  plan.suffix = arguments.storage_scope;
  std::ranges::replace(plan.suffix, '.', '_');
  return planned;
}

}  // namespace

Planned<ReindexPlan> plan_reindex(const Schedule& schedule, const ReindexArguments& arguments) {
  auto planned =
      plan_access(schedule, arguments.block, arguments.buffer, BufferSelector::Side::any, "global");
  if (std::holds_alternative<Refusal>(planned)) return planned;
  auto& plan = std::get<ReindexPlan>(planned);
  for (const auto& axis : plan.axes) {
    const bool starts_at_zero = is_const_int(axis->dom->min, 0);
    plan.copied.push_back(starts_at_zero ? Expr(axis->var) : axis->var - axis->dom->min);
    plan.shape.push_back(axis->dom->extent);
  }
  plan.storage_scope = plan.subject.selected.buffer->scope();
  plan.suffix = "reindex";
  return planned;
}

Planned<ReindexPlan> plan_reindex_cache_read(const Schedule& schedule,
                                             const ReindexCacheArguments& arguments) {
  return plan_mapped(schedule, arguments, BufferSelector::Side::read);
}

Planned<ReindexPlan> plan_reindex_cache_write(const Schedule& schedule,
                                              const ReindexCacheArguments& arguments) {
  return plan_mapped(schedule, arguments, BufferSelector::Side::write);
}

BlockRV commit_reindex(Schedule& schedule, ReindexPlan&& plan) {
  const Ptr<Buffer> buffer = plan.subject.selected.buffer;
  const bool is_write = plan.subject.selected.is_write;
  const std::uint32_t function = schedule.function_of(plan.nest);
  const SpanScope span(schedule.span_from(schedule.at(plan.place.at).object->span));
  const Ptr<Buffer> copy = decl_buffer(
      plan.shape, buffer->dtype,
      schedule.fresh_buffer_name(function, fmt::format("{}_{}", buffer->name, plan.suffix)),
      plan.storage_scope);
  schedule.edit(plan.subject.scope).alloc_buffers.push_back(copy);
  schedule.report().mirrors.push_back({buffer, copy});
  const AccessChange change{
      .from = buffer,
      .to = copy,
      .reads = true,
      .writes = is_write,
      .indices = [&](const auto&, const IndexForms&) { return plan.copied; },
      .region = [&](const auto&,
                    const IndexForms&) { return point_region(copy, plan.copied)->region; }};
  change_accesses(schedule, uses_of(schedule, schedule.node(plan.block), buffer), change);

  // The copy runs through the domains of the axes.
  std::vector<Ptr<Range>> domains;
  for (const auto& axis : plan.axes) domains.push_back(axis->dom);
  AxesNest nest = axes_nest(schedule, function, domains);
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (!plan.fixed[i].defined()) continue;
    nest.extents[i] = int_imm(nest.extents[i].dtype(), 1);
    nest.values[i] = plan.fixed[i] + nest.loops[i];
  }
  Substitution axes, values;
  IndexForms known;
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    axes[plan.axes[i]->var] = nest.axes[i]->var;
    values[plan.axes[i]->var] = nest.values[i];
    const std::int64_t* min = as_int(domains[i]->min);
    const std::int64_t* extent = as_int(domains[i]->extent);
    if (min && extent && *extent > 0) {
      known.add_range({plan.axes[i]->var.get(), *min, *min + *extent - 1});
    }
  }
  Analyzer analyzer;  // For what is no sum of axes, such as a clamped one.
  for (const auto& axis : plan.axes) analyzer.bind(axis->var, axis->dom);
  std::vector<Expr> elements, copied;
  Expr predicate = true;
  for (std::size_t i = 0; i < plan.indices.size(); ++i) {
    elements.push_back(substitute(plan.indices[i], axes));
    if (is_write) continue;
    // What is read under a condition may lie beyond the buffer elsewhere.
    const auto form = known.read(plan.indices[i]);
    const auto range = form ? form->range() : std::nullopt;
    const std::int64_t* extent = as_int(buffer->shape[i]);
    const Expr index = substitute(plan.indices[i], values);
    const auto holds = [&](const Expr& condition) {
      return !form && analyzer.can_prove(condition);
    };
    const bool is_positive = range ? range->first >= 0 : holds(plan.indices[i] >= 0);
    const bool is_below =
        range && extent ? range->second < *extent : holds(plan.indices[i] < buffer->shape[i]);
    if (!is_positive) predicate = predicate && zero_of(index.dtype()) <= index;
    if (!is_below) predicate = predicate && index < buffer->shape[i];
  }
  for (const Expr& index : plan.copied) copied.push_back(substitute(index, axes));
  const Ptr<Buffer>& from = is_write ? copy : buffer;
  const Ptr<Buffer>& to = is_write ? buffer : copy;
  const auto& from_indices = is_write ? copied : elements;
  const auto& to_indices = is_write ? elements : copied;
  Block block{.reads = {point_region(from, from_indices)},
              .writes = {point_region(to, to_indices)},
              .name_hint = schedule.fresh_block_name(function, copy->name),
              .body = store(to, load(from, from_indices), to_indices)};
  Stmt stmt = nest_around(nest, std::move(block), predicate);
  const NodeId at = plan.place.at;
  return block_inside(schedule, plan.place.is_after ? schedule.insert_after(at, std::move(stmt))
                                                    : schedule.insert_before(at, std::move(stmt)));
}

}  // namespace loopsmith
