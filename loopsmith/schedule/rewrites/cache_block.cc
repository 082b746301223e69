// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/cache_block.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/plain_index.h"
#include "loopsmith/schedule/rewrites/pointer_uses.h"

namespace loopsmith {
namespace {

/// True when the buffer is read to find out which instances of a block run: that is before the
/// block.
bool decides_instances(const BlockRealize& realize, const Ptr<Buffer>& buffer) {
  const auto reads = [&](const Expr& expr) {
    return !is_plain_index(expr) && std::ranges::any_of(free_buffers(expr), [&](const auto& read) {
      return read.same_as(buffer);
    });
  };
  return reads(realize.predicate) || std::ranges::any_of(realize.iter_values, reads);
}

/// True when each use in the scope is inside one of the blocks, or is what the scope declares.
bool are_inside(const Schedule& schedule, const BufferAccesses& uses, NodeId scope,
                const CacheSubject& subject) {
  return std::ranges::all_of(uses.nodes, [&](NodeId node) {
    if (node == scope) return true;
    NodeId block = no_node;
    for (; node != scope; node = schedule.at(node).parent) {
      if (schedule.as<BlockRealize>(node)) block = node;
    }
    if (block == no_node) return false;
    const BlockRV user = schedule.block_at(block);
    if (decides_instances(schedule.realize(user), subject.selected.buffer)) return false;
    return contains(subject.readers, user) || contains(subject.writers, user);
  });
}

std::uint32_t slot_in(const Schedule& schedule, BlockRV block, NodeId around) {
  return schedule.at(child_towards(schedule, schedule.node(block), around)).slot;
}

NodeId child_in_slot(const Schedule& schedule, NodeId around, std::uint32_t slot) {
  NodeId child = schedule.at(around).first_child;
  while (schedule.at(child).slot != slot) child = schedule.at(child).next;
  return child;
}

/// True for what names memory, or a value, for a part of a body.
bool declares(const Schedule& schedule, NodeId node) {
  return schedule.as<DeclBuffer>(node) || schedule.as<LetStmt>(node) ||
         schedule.as<Allocate>(node) || schedule.as<AllocateConst>(node);
}

/// What runs the statements inside a block or a declaration one after another.
NodeId body_below(const Schedule& schedule, NodeId node) {
  NodeId body = schedule.at(node).first_child;
  // What is declared for the whole body is seen in all of it.
  while (body != no_node && declares(schedule, body)) {
    node = body;
    body = schedule.at(node).first_child;
  }
  return body != no_node && schedule.as<SeqStmt>(body) ? body : node;
}

NodeId body_of(const Schedule& schedule, BlockRV scope) {
  return body_below(schedule, schedule.node(scope));
}

/// The same of where the buffer is declared that a block inside the scope uses.
NodeId body_with(const Schedule& schedule, BlockRV scope, const Ptr<Buffer>& buffer, BlockRV user) {
  const NodeId top = schedule.node(scope);
  NodeId node = schedule.node(user);
  while (node != top) {
    const auto* declaration = schedule.as<DeclBuffer>(node);
    if (declaration && declaration->buffer.same_as(buffer)) break;
    node = schedule.at(node).parent;
  }
  return body_below(schedule, node);
}

}  // namespace

bool is_storage_scope(std::string_view scope) {
  static constexpr std::string_view known[] = {"global",  "shared",  "local",
                                               "warp",    "wmma",    "texture",
                                               "amx.tmm", "m16n8k8", "metal.simdgroup"};
  return std::ranges::any_of(known, [&](std::string_view name) {
    return scope.starts_with(name) && (scope.size() == name.size() || scope[name.size()] == '.');
  });
}

std::variant<CacheSubject, Refusal> cache_subject(const Schedule& schedule, BlockRV block,
                                                  const BufferSelector& selector,
                                                  BufferSelector::Side side,
                                                  std::string_view storage_scope) {
  using Side = BufferSelector::Side;
  const bool is_write = (side == Side::any ? selector.side : side) == Side::write;
  const auto selected = select_buffer(schedule.get(block), selector, side);
  if (!selected || (side != Side::any && selected->is_write != is_write)) {
    return Refusal{&block_has_the_buffer,
                   {Argument(block), Argument(is_write ? "writes" : "reads")}};
  }
  if (!is_storage_scope(storage_scope)) {
    return Refusal{&storage_scope_is_known, {Argument(storage_scope)}};
  }
  const auto scope = block_around(schedule, schedule.node(block));
  if (!scope) return Refusal{&block_stands_in_a_block, {Argument(block)}};
  CacheSubject subject{.scope = *scope, .selected = *selected};
  const NodeId scope_node = schedule.node(*scope);
  for (const BlockRV other : child_blocks(schedule, scope_node)) {
    if (reads_buffer(schedule.get(other), selected->buffer)) subject.readers.push_back(other);
    if (writes_buffer(schedule.get(other), selected->buffer)) subject.writers.push_back(other);
  }
  const BufferAccesses uses = uses_of(schedule, scope_node, selected->buffer);
  const Argument buffer{Ref(selected->buffer)};
  const bool leads_there =
      uses.by_indices_alone() || leads_to_caches(schedule.statement(scope_node), *selected->buffer);
  if (!leads_there) return Refusal{&buffer_is_used_by_index, {buffer}};
  if (!are_inside(schedule, uses, scope_node, subject)) {
    return Refusal{&uses_are_declared, {buffer}};
  }
  return subject;
}

std::variant<CopyPlace, Refusal> place_before(const Schedule& schedule, BlockRV scope,
                                              const Ptr<Buffer>& buffer,
                                              const Handles<BlockRV>& consumers,
                                              const Handles<BlockRV>& writers) {
  NodeId common = schedule.node(consumers[0]);
  for (const BlockRV consumer : consumers) {
    common = common_ancestor(schedule, common, schedule.node(consumer));
  }
  CopyPlace place{.around = body_with(schedule, scope, buffer, consumers[0])};
  for (const BlockRV writer : writers) {
    const NodeId shared = common_ancestor(schedule, common, schedule.node(writer));
    if (is_inside(schedule, shared, place.around)) place.around = shared;
  }
  if (writers.empty()) {
    place.at = schedule.at(place.around).first_child;
    return place;
  }
  const auto refusal = [&](BlockRV writer) {
    return changed_results(buffer_is_not_written_between,
                           {Argument(writer), Argument(Ref(buffer))});
  };
  if (!schedule.as<SeqStmt>(place.around)) return refusal(writers[0]);
  std::uint32_t first = ~0U, last = 0;
  for (const BlockRV consumer : consumers) {
    const std::uint32_t slot = slot_in(schedule, consumer, place.around);
    first = std::min(first, slot);
    last = std::max(last, slot);
  }
  std::optional<std::uint32_t> after;
  for (const BlockRV writer : writers) {
    if (!is_inside(schedule, schedule.node(writer), place.around)) continue;
    const std::uint32_t slot = slot_in(schedule, writer, place.around);
    if (slot >= first && slot <= last) return refusal(writer);
    if (slot < first) after = std::max(after.value_or(0), slot);
  }
  place.is_after = after.has_value();
  place.at = child_in_slot(schedule, place.around, after.value_or(first));
  return place;
}

std::variant<CopyPlace, Refusal> place_after(const Schedule& schedule, BlockRV scope,
                                             const Ptr<Buffer>& buffer,
                                             const Handles<BlockRV>& writers,
                                             const Handles<BlockRV>& readers) {
  CopyPlace place{.around = body_with(schedule, scope, buffer, writers[0]), .is_after = true};
  for (const BlockRV writer : writers) {
    for (const BlockRV reader : readers) {
      const NodeId shared = common_ancestor(schedule, schedule.node(writer), schedule.node(reader));
      if (is_inside(schedule, shared, place.around)) place.around = shared;
    }
  }
  std::uint32_t first = ~0U, last = 0;
  for (const BlockRV writer : writers) {
    const bool is_around = is_inside(schedule, schedule.node(writer), place.around) &&
                           schedule.node(writer) != place.around;
    if (!is_around) {
      return changed_results(buffer_is_not_written_between,
                             {Argument(writer), Argument(Ref(buffer))});
    }
    const std::uint32_t slot = slot_in(schedule, writer, place.around);
    first = std::min(first, slot);
    last = std::max(last, slot);
  }
  for (const BlockRV reader : readers) {
    if (!is_inside(schedule, schedule.node(reader), place.around)) continue;
    const std::uint32_t slot = slot_in(schedule, reader, place.around);
    if (slot >= first && slot <= last) {
      return changed_results(buffer_is_not_written_between,
                             {Argument(writers[0]), Argument(Ref(buffer))});
    }
  }
  place.at = child_in_slot(schedule, place.around, last);
  return place;
}

namespace {

/// What the regions of a buffer among `regions` of the blocks hold.
std::optional<AffineRegion> box_declared(const Schedule& schedule, const Ptr<Buffer>& buffer,
                                         const Handles<BlockRV>& blocks,
                                         std::vector<Ptr<BufferRegion>> Block::* regions,
                                         NodeId around) {
  std::optional<AffineRegion> all;
  for (const BlockRV block : blocks) {
    for (const auto& region : schedule.get(block).*regions) {
      if (!region->buffer.same_as(buffer)) continue;
      const AffineRegion box = accessed_region(schedule, block, *region, around);
      all = all ? unite(*all, box) : box;
    }
  }
  return all;
}

}  // namespace

AffineRegion read_region(const Schedule& schedule, const Ptr<Buffer>& buffer,
                         const Handles<BlockRV>& readers, NodeId around) {
  return box_declared(schedule, buffer, readers, &Block::reads, around)
      .value_or(full_region(buffer));
}

AffineRegion region_to_cache(const Schedule& schedule, const CacheSubject& subject,
                             const Handles<BlockRV>& consumers, const CopyPlace& place) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  const AffineRegion read = read_region(schedule, buffer, consumers, place.around);
  if (subject.writers.empty()) {
    for (const auto& region : schedule.get(subject.scope).reads) {
      if (!region->buffer.same_as(buffer)) continue;
      const AffineRegion declared = accessed_region_in(schedule, subject.scope, *region);
      return covers(declared, read) ? declared : read;
    }
    return full_region(buffer);
  }
  Handles<BlockRV> producers = subject.writers;
  std::erase_if(producers, [&](BlockRV writer) {
    const NodeId node = schedule.node(writer);
    return !place.is_after || !is_inside(schedule, node, place.around) ||
           slot_in(schedule, writer, place.around) > schedule.at(place.at).slot;
  });
  const auto written = box_declared(schedule, buffer, producers, &Block::writes, place.around);
  return written && covers(*written, read) ? *written : read;
}

bool is_tile(const Schedule& schedule, BlockRV scope, const CopyPlace& place,
             const AffineRegion& box) {
  const NodeId node = schedule.node(scope);
  for (NodeId above = node; above != no_node; above = schedule.at(above).parent) {
    const auto* loop = schedule.as<For>(above);
    for (std::size_t i = 0; loop && i < box.sides.size(); ++i) {
      if (uses_variable(range_of_dimension(box, i)->min, loop->loop_var)) return false;
    }
  }
  const bool is_root = schedule.at(scope_of(schedule, node)).parent == no_node &&
                       !schedule.as<BlockRealize>(scope_of(schedule, node));
  return !is_root && place.around == body_of(schedule, scope);
}

Ptr<Buffer> allocate_cache(Schedule& schedule, BlockRV scope, const AffineRegion& box,
                           std::string_view storage_scope, bool is_tile) {
  const std::uint32_t function = schedule.function_of(schedule.node(scope));
  std::string name = fmt::format("{}_{}", box.buffer->name, storage_scope);
  std::ranges::replace(name, '.', '_');
  Ptr<Buffer> cache =
      buffer_like(*box.buffer, schedule.fresh_buffer_name(function, name), storage_scope);
  if (is_tile) {
    Buffer tile = *cache;
    for (std::size_t i = 0; i < tile.shape.size(); ++i) {
      tile.shape[i] = range_of_dimension(box, i)->extent;
    }
    cache = make(std::move(tile));
  }
  schedule.edit(scope).alloc_buffers.push_back(cache);
  schedule.report().mirrors.push_back({box.buffer, cache});
  return cache;
}

AccessChange change_to_cache(const AffineRegion& box, const Ptr<Buffer>& cache, bool is_tile) {
  AccessChange change{.from = box.buffer, .to = cache};
  if (!is_tile) return change;
  std::vector<Expr> origin;
  for (std::size_t i = 0; i < box.sides.size(); ++i)
    origin.push_back(range_of_dimension(box, i)->min);
  const auto moved = [](const Expr& index, const Expr& start, const IndexForms& known) {
    const Expr difference = index - start;
    const auto form = known.read(difference);
    return form ? known.write(*form, difference.dtype()) : difference;
  };
  change.indices = [=](const std::vector<Expr>& indices, const IndexForms& known) {
    std::vector<Expr> made;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      made.push_back(moved(indices[i], origin[i], known));
    }
    return made;
  };
  change.region = [=](const std::vector<Ptr<Range>>& region, const IndexForms& known) {
    std::vector<Ptr<Range>> made;
    for (std::size_t i = 0; i < region.size(); ++i) {
      made.push_back(range(moved(region[i]->min, origin[i], known), region[i]->extent));
    }
    return made;
  };
  return change;
}

BlockRV insert_copy(Schedule& schedule, BlockRV scope, const CopyPlace& place,
                    const AffineRegion& box, const Ptr<Buffer>& cache, bool is_tile, bool is_back,
                    std::string_view name) {
  const std::uint32_t function = schedule.function_of(schedule.node(scope));
  const SpanScope span(schedule.span_from(schedule.at(place.at).object->span));
  std::vector<Ptr<Range>> domains;
  for (std::size_t i = 0; i < box.sides.size(); ++i) {
    const Expr extent = is_tile ? range_of_dimension(box, i)->extent : box.buffer->shape[i];
    domains.push_back(range(zero_of(extent.dtype()), extent));
  }
  AxesNest nest = axes_nest(schedule, function, domains);
  std::vector<Expr> elements;  // Indices in the buffer and in the cache, in terms of axes.
  std::vector<Expr> cached;
  Expr predicate = true;
  for (std::size_t i = 0; i < box.sides.size(); ++i) {
    const Ptr<Range> side = range_of_dimension(box, i);
    const bool is_shifted = !is_const_int(side->min, 0);
    const Expr element = is_shifted ? side->min + nest.loops[i] : Expr(nest.loops[i]);
    const Expr axis = nest.axes[i]->var;
    nest.extents[i] = side->extent;
    nest.values[i] = is_tile ? Expr(nest.loops[i]) : element;
    elements.push_back(is_tile && is_shifted ? side->min + axis : axis);
    cached.push_back(axis);
    const Expr condition = in_bounds(box, i, element);
    if (condition.defined()) predicate = predicate && condition;
  }
  const Ptr<Buffer>& from = is_back ? cache : box.buffer;
  const Ptr<Buffer>& to = is_back ? box.buffer : cache;
  const auto& from_indices = is_back ? cached : elements;
  const auto& to_indices = is_back ? elements : cached;
  Block block{.reads = {point_region(from, from_indices)},
              .writes = {point_region(to, to_indices)},
              .name_hint = schedule.fresh_block_name(function, name),
              .body = store(to, load(from, from_indices), to_indices)};
  Stmt stmt = nest_around(nest, std::move(block), predicate);
  const NodeId made = place.is_after ? schedule.insert_after(place.at, std::move(stmt))
                                     : schedule.insert_before(place.at, std::move(stmt));
  return block_inside(schedule, made);
}

AxesNest axes_nest(Schedule& schedule, std::uint32_t function,
                   const std::vector<Ptr<Range>>& domains, std::string_view loop_name,
                   std::string_view axis_name) {
  AxesNest nest;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const Ptr<Range>& domain = domains[i];
    const DataType type = domain->min.dtype();
    const Ptr<Var> loop =
        var(schedule.fresh_loop_name(function, fmt::format("{}{}", loop_name, i)), type);
    IterVar axis{.dom = domain, .var = var(fmt::format("{}{}", axis_name, i), type)};
    nest.loops.push_back(loop);
    nest.extents.push_back(domain->extent);
    nest.values.push_back(is_const_int(domain->min, 0) ? Expr(loop) : domain->min + loop);
    nest.axes.push_back(make(std::move(axis)));
  }
  return nest;
}

Stmt nest_around(const AxesNest& nest, Block block, const Expr& predicate) {
  block.iter_vars = nest.axes;
  BlockRealize realize{.iter_values = nest.values, .block = make(std::move(block))};
  if (predicate.defined()) realize.predicate = predicate;
  Stmt stmt = make(std::move(realize));
  for (std::size_t i = nest.loops.size(); i-- > 0;) {
    stmt = for_loop(nest.loops[i], zero_of(nest.loops[i]->dtype), nest.extents[i], std::move(stmt));
  }
  return stmt;
}

NodeId nest_of(const Schedule& schedule, BlockRV scope, BlockRV block) {
  const NodeId node = schedule.node(block);
  NodeId nest = child_towards(schedule, node, body_of(schedule, scope));
  // What is declared for a part of the body is seen there alone.
  while (declares(schedule, nest)) {
    nest = child_towards(schedule, node, body_below(schedule, nest));
  }
  return nest;
}

BlockRV block_inside(const Schedule& schedule, NodeId node) {
  while (!schedule.as<BlockRealize>(node)) node = schedule.at(node).first_child;
  return schedule.block_at(node);
}

}  // namespace loopsmith
