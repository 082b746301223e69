// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/privatize.h"

#include <algorithm>
#include <optional>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/pure_updates.h"
#include "loopsmith/schedule/queries/affine_region.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/cache_block.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"

namespace loopsmith {
namespace {

/// The buffer of that name, of those that are defined around the loop.
Ptr<Buffer> named_around(const Schedule& schedule, LoopRV loop, const BufferSelector& selector) {
  if (const auto* given = std::get_if<Ptr<Buffer>>(&selector.value)) return *given;
  const auto* name = std::get_if<std::string>(&selector.value);
  const NodeId node = schedule.node(loop);
  for (const DefinedBuffer& one : buffers_of(schedule, schedule.function_of(node))) {
    if (name && one.buffer->name == *name && is_inside(schedule, node, one.owner)) {
      return one.buffer;
    }
  }
  return {};
}

std::vector<Ptr<Range>> domains_of(const Buffer& buffer) {
  std::vector<Ptr<Range>> domains;
  for (const Expr& extent : buffer.shape) domains.push_back(range(zero_of(extent.dtype()), extent));
  return domains;
}

/// What the block around a loop says that it writes of a buffer; all of it where it says nothing.
AffineRegion written_around(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer) {
  const auto around = block_around(schedule, schedule.node(loop));
  std::optional<AffineRegion> box;
  if (around) {
    for (const auto& region : schedule.get(*around).writes) {
      if (!region->buffer.same_as(buffer)) continue;
      AffineRegion part = accessed_region_in(schedule, *around, *region);
      box = box ? unite(*box, part) : std::move(part);
    }
  }
  return box ? *std::move(box) : full_region(buffer);
}

/// Keeps the first axes of a nest over a buffer within a part of it; under what condition.
Expr keep_within(AxesNest& nest, const AffineRegion& box) {
  Expr predicate = true;
  for (std::size_t i = 0; i < box.sides.size(); ++i) {
    const Ptr<Range> side = range_of_dimension(box, i);
    if (!is_const_int(side->min, 0)) nest.values[i] = side->min + nest.loops[i];
    nest.extents[i] = side->extent;
    const Expr condition = in_bounds(box, i, nest.values[i]);
    if (condition.defined()) predicate = predicate && condition;
  }
  return predicate;
}

std::vector<Expr> indices_of(const AxesNest& nest) {
  std::vector<Expr> variables;
  for (const auto& axis : nest.axes) variables.push_back(axis->var);
  return variables;
}

Block block_of(Schedule& schedule, std::uint32_t function, std::string_view name, Stmt body) {
  Block block{.name_hint = schedule.fresh_block_name(function, name), .body = std::move(body)};
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return block;
}

}  // namespace

std::variant<UpdatedBuffer, Refusal> updated_buffer(const Schedule& schedule, LoopRV loop,
                                                    const Ptr<Buffer>& buffer) {
  const auto fail = [&](std::string why) {
    return Refusal{&loop_only_updates,
                   {Argument(loop), Argument(buffer->name), Argument(std::move(why))}};
  };
  const NodeId node = schedule.node(loop), owner = owner_of(schedule, node, buffer);
  if (owner == no_node) return fail("it is a view, or memory of an iteration");
  const BufferAccesses all = uses_of(schedule, owner, buffer);
  if (!all.by_indices_alone() || all.by_vector) {
    return fail("it is used through views, pointers or vectors");
  }
  auto combiner = only_combiner(schedule.get(loop).body, buffer);
  if (auto* why = std::get_if<std::string>(&combiner)) return fail(std::move(*why));
  std::vector<NodeId> inside = all.nodes;
  std::erase_if(inside, [&](NodeId use) { return !is_inside(schedule, use, node); });
  auto uses = uses_by_block(schedule, loop, inside, buffer);
  if (!uses || std::ranges::find(inside, node) != inside.end()) {
    return fail("a bound, a binding or a condition reads it");
  }
  return UpdatedBuffer{buffer, owner, std::get<Combiner>(combiner), *std::move(uses)};
}

Planned<PrivatizePlan> plan_privatize(const Schedule& schedule,
                                      const PrivatizeArguments& arguments) {
  const Argument handle(arguments.loop);
  const For& loop = schedule.get(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (loop.kind != ForKind::serial) {
    const auto kind = EnumNames<ForKind>::names[static_cast<std::size_t>(loop.kind)];
    return Refusal{&loop_is_serial, {handle, Argument(kind)}};
  }
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  if (is_left_early(schedule, arguments.loop))
    return Refusal{&iterations_reach_their_end, {Argument("break or return"), handle}};
  const NodeId node = schedule.node(arguments.loop), scope = scope_of(schedule, node);
  for (const Expr* bound : {&loop.min, &loop.extent, &loop.step}) {
    if (!is_known_at(schedule, scope, node, *bound)) {
      return Refusal{&bounds_are_known,
                     {handle, Argument("where the block around it allocates memory")}};
    }
  }
  PrivatizePlan plan{arguments.loop};
  if (!arguments.buffer) return plan;
  const auto buffer = named_around(schedule, arguments.loop, *arguments.buffer);
  if (!buffer.defined()) {
    return Refusal{&loop_only_updates,
                   {handle, to_argument(*arguments.buffer),
                    Argument("no buffer of that name is defined around it")}};
  }
  auto found = updated_buffer(schedule, arguments.loop, buffer);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  plan.updated.push_back(std::get<UpdatedBuffer>(std::move(found)));
  return plan;
}

Handles<BlockRV> commit_privatize(Schedule& schedule, PrivatizePlan&& plan) {
  const std::uint32_t function = schedule.function_of(schedule.node(plan.loop));
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  const Expr extent = schedule.get(plan.loop).extent;
  const Ptr<Range> iterations =
      range(zero_of(extent.dtype()), max(extent, zero_of(extent.dtype())));
  std::vector<Stmt> starts, merges;
  std::vector<Ptr<Buffer>> allocated;
  std::vector<std::string> names;
  for (const UpdatedBuffer& one : plan.updated) {
    const std::string& name = one.buffer->name;
    const Ptr<Buffer> copies = with_iterations(
        *one.buffer, schedule.fresh_buffer_name(function, name + "_copies"), extent);
    add_iteration_dimension(schedule, plan.loop, one.uses, one.buffer, copies);
    const Expr neutral = neutral_element(one.combiner, one.buffer->dtype);

    const AffineRegion box = written_around(schedule, plan.loop, one.buffer);
    AxesNest start = axes_nest(schedule, function, domains_of(*one.buffer));
    const Expr starts_within = keep_within(start, box);
    const Ptr<Var> own = var("v_" + std::string(schedule.name(plan.loop)), extent.dtype());
    start.axes.insert(start.axes.begin(), make(IterVar{.dom = iterations, .var = own}));
    start.values.insert(start.values.begin(), iteration_of(schedule.get(plan.loop)));
    Block started =
        block_of(schedule, function, name + "_start", store(copies, neutral, indices_of(start)));
    names.push_back(started.name_hint);
    starts.push_back(nest_around(start, std::move(started), starts_within));

    std::vector<Ptr<Range>> domains = domains_of(*one.buffer);
    domains.push_back(iterations);
    AxesNest merge = axes_nest(schedule, function, domains);
    const Expr merges_within = keep_within(merge, box);
    IterVar reduced = *merge.axes.back();
    reduced.iter_type = IterType::comm_reduce;
    merge.axes.back() = make(std::move(reduced));
    std::vector<Expr> element = indices_of(merge);
    std::vector<Expr> place{element.back()};
    element.pop_back();
    place.insert(place.end(), element.begin(), element.end());
    const Expr part = load(copies, place);
    Stmt update =
        store(one.buffer, combined(one.combiner, load(one.buffer, element), part), element);
    // What no iteration updated may never have been written.
    if (one.may_be_unset) {
      update = make(IfThenElse{.condition = part != neutral, .then_case = std::move(update)});
    }
    Block merged = block_of(schedule, function, name + "_merge", std::move(update));
    names.push_back(merged.name_hint);
    merges.push_back(nest_around(merge, std::move(merged), merges_within));
    allocated.push_back(copies);
  }
  // Behind all changes of accesses: a new block around the body renews the nodes of uses.
  for (const Ptr<Buffer>& copies : allocated) {
    allocate_in(schedule, block_around_or_root(schedule, schedule.node(plan.loop)), copies);
  }
  For loop = schedule.get(plan.loop);
  starts.push_back(loop.body);
  loop.body = seq(std::move(starts));
  NodeId place = schedule.replace(schedule.node(plan.loop), make(std::move(loop)));
  for (Stmt& merge : merges) place = schedule.insert_after(place, std::move(merge));
  Handles<BlockRV> blocks;
  for (const std::string& name : names) {
    blocks.push_back(schedule.blocks_named(function, name)[0]);
  }
  return blocks;
}

}  // namespace loopsmith
