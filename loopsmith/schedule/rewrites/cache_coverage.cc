// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/cache_coverage.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/empty_reductions.h"
#include "loopsmith/schedule/queries/must_write_region.h"

namespace loopsmith {

namespace {

/// Refuses where a writer, with nothing to reduce, does its init outside of a loop around.
std::optional<Refusal> refuse_lost_inits(const Schedule& schedule, const CacheSubject& subject,
                                         NodeId around) {
  for (const BlockRV writer : subject.writers) {
    if (const auto loop = loop_of_empty_reduction(schedule, writer, around)) {
      return changed_results(empty_reductions_start, {Argument(*loop), Argument(writer)});
    }
  }
  return {};
}

}  // namespace

std::variant<AffineRegion, Refusal> written_region(const Schedule& schedule,
                                                   const CacheSubject& subject, NodeId around) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  if (auto refusal = refuse_lost_inits(schedule, subject, around)) return *std::move(refusal);
  std::optional<AffineRegion> all;
  for (const BlockRV writer : subject.writers) {
    const NodeId from = child_towards(schedule, schedule.node(writer), around);
    const auto box = must_write_region(schedule, from, buffer);
    if (!box)
      return changed_results(written_box_is_known, {Argument(Ref(buffer)), Argument(writer)});
    const AffineRegion joined = all ? unite(*all, *box) : *box;
    // One of them fills the hull of all.
    if (all && !covers(*all, joined) && !covers(*box, joined)) {
      return changed_results(written_box_is_known, {Argument(Ref(buffer)), Argument(writer)});
    }
    all = joined;
  }
  return *all;
}

namespace {

/// The side with both ends known, where it is a constant dimension.
AffineInterval with_ends(const AffineInterval& side, const Buffer& buffer, std::size_t dimension) {
  const std::int64_t* extent = as_int(buffer.shape[dimension]);
  if (!side.is_whole || !extent) return side;
  return {.is_whole = false, .low = 0, .high = *extent - 1};
}

/// Takes from `rest` what `box` has of it, if a box is left; true when nothing is.
bool take_away(AffineRegion& rest, const AffineRegion& box) {
  std::optional<std::size_t> open;  // The only dimension that the box does not cover.
  for (std::size_t i = 0; i < rest.sides.size(); ++i) {
    AffineRegion side{.buffer = rest.buffer, .sides = {rest.sides[i]}};
    AffineRegion other{.buffer = rest.buffer, .sides = {box.sides[i]}};
    if (covers(other, side)) continue;
    if (open) return false;
    open = i;
  }
  if (!open) return true;
  AffineInterval& left = rest.sides[*open];
  const AffineInterval& taken = box.sides[*open];
  if (left.is_whole || taken.is_whole || !same_base(left, taken)) return false;
  if (taken.low <= left.low) left.low = std::max(left.low, taken.high + 1);
  if (taken.high >= left.high) left.high = std::min(left.high, taken.low - 1);
  return left.low > left.high;
}

/// True when boxes that each hold some of it hold all of a box.
bool is_covered(AffineRegion rest, const std::vector<AffineRegion>& boxes) {
  // Each may leave a box that another takes.
  for (std::size_t round = 0; round < boxes.size(); ++round) {
    for (const AffineRegion& box : boxes) {
      if (take_away(rest, box)) return true;
    }
  }
  return false;
}

/// A side with all that it is while the variables of its base run through their values.
AffineInterval without_base(const AffineInterval& side) {
  const auto values = IndexForm{.terms = side.base, .constant = 0}.range();
  if (side.is_whole || !values) return side.base.empty() ? side : AffineInterval{};
  return {.is_whole = false, .low = side.low + values->first, .high = side.high + values->second};
}

/// True when the value is up to loops and axes outside of the scope, seen from a node inside it.
bool varies_outside(const Schedule& schedule, NodeId scope, NodeId node, const Expr& value) {
  const auto varies = [&](const Ptr<Var>& variable) {
    const auto goes_on = [&](NodeId at, const Expr& by) {
      return deep_call([&] { return varies_outside(schedule, scope, at, by); });
    };
    bool is_inside = true;
    for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
      is_inside = is_inside && at != scope;
      if (const auto* loop = schedule.as<For>(at); loop && loop->loop_var.same_as(variable)) {
        return !is_inside && !is_const_int(loop->extent, 1);
      }
      if (const auto* let = schedule.as<LetStmt>(at); let && let->var.same_as(variable)) {
        return !is_inside || goes_on(at, let->value);
      }
      const auto* around = schedule.as<BlockRealize>(at);
      for (std::size_t i = 0; around && i < around->iter_values.size(); ++i) {
        if (!around->block->iter_vars[i]->var.same_as(variable)) continue;
        return !is_inside || goes_on(at, around->iter_values[i]);
      }
    }
    return false;  // A size.
  };
  return std::ranges::any_of(free_variables(value), varies);
}

/// What loops and axes around a node are when they start.
Substitution starts_around(const Schedule& schedule, NodeId node) {
  std::vector<NodeId> around;
  for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
    around.push_back(at);
  }
  Substitution starts;
  for (std::size_t i = around.size(); i-- > 0;) {
    if (const auto* loop = schedule.as<For>(around[i])) {
      starts[loop->loop_var] = substitute(loop->min, starts);
    } else if (const auto* realize = schedule.as<BlockRealize>(around[i])) {
      for (std::size_t a = 0; a < realize->iter_values.size(); ++a) {
        starts[realize->block->iter_vars[a]->var] = substitute(realize->iter_values[a], starts);
      }
    }
  }
  return starts;
}

}  // namespace

bool continues_reduction(const Schedule& schedule, BlockRV scope, BlockRV handle) {
  const BlockRealize& realize = schedule.realize(handle);
  const NodeId around = schedule.node(scope), node = schedule.node(handle);
  if (realize.block->init) {
    const Substitution starts = starts_around(schedule, node);
    Analyzer analyzer;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const IterVar& axis = *realize.block->iter_vars[i];
      const Expr& value = realize.iter_values[i];
      if (axis.iter_type != IterType::comm_reduce) continue;
      if (varies_outside(schedule, around, node, value)) return true;
      // A part of it starts where another part ended.
      if (!analyzer.can_prove_equal(substitute(value, starts), axis.dom->min)) return true;
    }
  }
  return std::ranges::any_of(child_blocks(schedule, schedule.node(handle)), [&](BlockRV inner) {
    return continues_reduction(schedule, scope, inner);
  });
}

namespace {

/// True when `box` of a scope's buffer that is allocated further out has values when the scope
/// begins.
bool is_written_outside(const Schedule& schedule, const CacheSubject& subject,
                        const AffineRegion& box) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  const NodeId scope = schedule.node(subject.scope);
  const auto found =
      cache_subject(schedule, subject.scope, buffer, BufferSelector::Side::read, "global");
  const auto* outer = std::get_if<CacheSubject>(&found);
  if (!outer) return false;
  const auto& reads = schedule.get(subject.scope).reads;
  const auto is_this = [&](const auto& region) { return region->buffer.same_as(buffer); };
  const auto region = std::ranges::find_if(reads, is_this);
  const bool is_declared =
      region != reads.end() && covers(accessed_region_in(schedule, subject.scope, **region), box);
  return is_written_before(
      schedule, *outer,
      is_declared ? accessed_region(schedule, subject.scope, **region, scope) : full_region(buffer),
      {.at = scope, .around = schedule.node(outer->scope)});
}

/// True where the buffer is of constants.
bool holds_constants(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer) {
  for (; node != no_node; node = schedule.at(node).parent) {
    const auto* constants = schedule.as<AllocateConst>(node);
    if (constants && constants->buffer_var.same_as(buffer->data)) return true;
  }
  return false;
}

}  // namespace

bool is_written_before(const Schedule& schedule, const CacheSubject& subject,
                       const AffineRegion& box, const CopyPlace& place) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  if (holds_constants(schedule, place.at, buffer)) return true;
  const NodeId owner = owner_of(schedule, place.at, buffer);
  if (owner == no_node) return false;             // A variable, or what a statement declares.
  if (schedule.as<PrimFunc>(owner)) return true;  // An input.
  if (owner != schedule.node(subject.scope) && is_written_outside(schedule, subject, box)) {
    return true;
  }
  std::vector<AffineRegion> written;
  for (const BlockRV writer : subject.writers) {
    const NodeId node = schedule.node(writer);
    const bool is_there = is_inside(schedule, node, place.at);
    if (is_there ? !place.is_after : !is_before(schedule, node, place.at)) continue;
    const NodeId shared =
        is_there ? schedule.at(place.at).parent : common_ancestor(schedule, node, place.at);
    // In the other branch of a condition it does not run before.
    if (!is_there && !schedule.as<SeqStmt>(shared)) continue;
    if (auto known = must_write_region(schedule, child_towards(schedule, node, shared), buffer)) {
      written.push_back(*std::move(known));
    }
  }
  AffineRegion here = box, wide = box;  // In this iteration, and over all loops around.
  for (std::size_t i = 0; i < box.sides.size(); ++i) {
    here.sides[i] = with_ends(box.sides[i], *buffer, i);
    wide.sides[i] = with_ends(without_base(box.sides[i]), *buffer, i);
    for (AffineRegion& known : written) known.sides[i] = with_ends(known.sides[i], *buffer, i);
  }
  return is_covered(std::move(here), written) || is_covered(std::move(wide), written);
}

bool may_skip(const BlockRealize& realize, const Ptr<Buffer>& buffer) {
  const auto reads = [&](const Ref& part) {
    bool found = false;
    pre_order_visit(part, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      found = found || (load && load->buffer.same_as(buffer));
      return !found;
    });
    return found;
  };
  bool skips = !is_const_int(realize.predicate, 1);
  pre_order_visit(realize.block->body, [&](const Ref& ref) {
    const auto* branch = ref.as<IfThenElse>();
    const auto* call = ref.as<Call>();
    const bool is_choice = call && call->op == op("if_then_else");
    skips = skips || (branch && reads(Ref(branch))) || (is_choice && reads(Ref(call)));
    return !skips;
  });
  return skips;
}

bool may_read(const Schedule& schedule, const CacheSubject& subject, const AffineRegion& box) {
  for (const auto& region : schedule.get(subject.scope).reads) {
    if (!region->buffer.same_as(subject.selected.buffer)) continue;
    if (!covers(accessed_region_in(schedule, subject.scope, *region), box)) return false;
  }
  return true;
}

void declare_all_used(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  for (std::optional<BlockRV> each = block; each;
       each = block_around(schedule, schedule.node(*each))) {
    Block& around = schedule.edit(*each);
    for (auto* regions : {&around.reads, &around.writes}) {
      for (auto& region : *regions) {
        if (region->buffer.same_as(buffer)) region = whole_region(buffer);
      }
    }
  }
}

bool is_filled_by(const Schedule& schedule, const Ptr<Buffer>& buffer, BlockRV writer,
                  BlockRV reader) {
  const NodeId node = schedule.node(writer), place = schedule.node(reader);
  if (!is_before(schedule, node, place)) return false;
  const NodeId shared = common_ancestor(schedule, node, place);
  if (!schedule.as<SeqStmt>(shared)) return false;
  const auto filled = must_write_region(schedule, child_towards(schedule, node, shared), buffer);
  return filled && covers(*filled, read_region(schedule, buffer, {reader}, shared));
}

bool is_filled_for(const Schedule& schedule, const CacheSubject& subject, BlockRV reader) {
  return std::ranges::any_of(subject.writers, [&](BlockRV writer) {
    return is_filled_by(schedule, subject.selected.buffer, writer, reader);
  });
}

bool is_read_throughout(const Schedule& schedule, NodeId nest, BlockRV handle,
                        const Ptr<Buffer>& buffer, const std::vector<Ptr<IterVar>>& axes) {
  const Block& block = schedule.get(handle);
  return !block.writes.empty() && unsure_domains(schedule, handle).empty() &&
         !may_skip(schedule.realize(handle), buffer) &&
         stores_throughout(schedule, nest, block.writes[0]->buffer, axes);
}

}  // namespace loopsmith
