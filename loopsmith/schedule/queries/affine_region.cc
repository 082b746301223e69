// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/affine_region.h"

#include <algorithm>
#include <limits>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

using Inner = InnerVariables;

/// What a region is while the inner variables run through their values.
AffineRegion box_of_region(const BufferRegion& region, const IndexForms& forms,
                           const Inner& inner) {
  AffineRegion box{.buffer = region.buffer};
  for (std::size_t i = 0; i < region.region.size(); ++i) {
    const Range& range = *region.region[i];
    AffineInterval& side = box.sides.emplace_back();
    const auto first = forms.read(range.min);
    if (!first) continue;
    side = affine_interval_of(*first, inner);
    if (!is_const_int(range.extent, 1)) {
      const std::int64_t* extent = as_int(range.extent);
      side = extent ? side : AffineInterval{};
      side.high += extent ? *extent - 1 : 0;
    }
    side = clipped(std::move(side), *region.buffer, i);
  }
  return box;
}

/// The variable that a node defines for what is inside it.
void add_defined(const Schedule& schedule, NodeId node, Inner& inner) {
  if (const auto* loop = schedule.as<For>(node)) inner.insert(loop->loop_var.get());
  if (const auto* let = schedule.as<LetStmt>(node)) inner.insert(let->var.get());
  const auto* attribute = schedule.as<AttrStmt>(node);
  const auto* thread = attribute ? attribute->node.as<IterVar>() : nullptr;
  if (thread) inner.insert(thread->var.get());
}

}  // namespace

AffineRegion full_region(const Ptr<Buffer>& buffer) {
  return {.buffer = buffer, .sides = std::vector<AffineInterval>(buffer->shape.size())};
}

AffineRegion accessed_region(const Schedule& schedule, BlockRV block, const BufferRegion& region,
                             NodeId from) {
  const NodeId place = schedule.node(block);
  const BlockRealize& realize = schedule.realize(block);
  IndexForms forms(ranges_around(schedule, place));
  Inner inner;
  for (NodeId node = place; node != from; node = schedule.at(node).parent) {
    add_defined(schedule, node, inner);
  }
  add_defined(schedule, from, inner);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    forms.bind(realize.block->iter_vars[i]->var, realize.iter_values[i]);
  }
  return box_of_region(region, forms, inner);
}

AffineRegion accessed_region_in(const Schedule& schedule, BlockRV scope,
                                const BufferRegion& region) {
  return box_of_region(region, known_inside(schedule, schedule.node(scope)), {});
}

AffineRegion region_over_axes(const Block& block, const BufferRegion& region) {
  Inner axes;
  for (const auto& axis : block.iter_vars) axes.insert(axis->var.get());
  return box_of_region(region, forms_of_axes(block), axes);
}

AffineRegion unite(const AffineRegion& a, const AffineRegion& b) {
  AffineRegion box = a;
  for (std::size_t i = 0; i < box.sides.size(); ++i) {
    box.sides[i] = clipped(join(a.sides[i], b.sides[i]), *a.buffer, i);
  }
  return box;
}

namespace {

/// The least and the largest difference of two sums, as far as it is known.
std::optional<std::pair<std::int64_t, std::int64_t>> difference(const IndexTerms& a,
                                                                const IndexTerms& b) {
  const auto add_rest = [](IndexForm& sum, const IndexTerms& terms, const IndexTerms& others,
                           std::int64_t sign) {
    for (IndexTerm term : terms) {
      const auto is_same = [&](const IndexTerm& other) { return same_term(term, other); };
      if (std::ranges::any_of(others, is_same)) continue;
      if (term.coefficient == std::numeric_limits<std::int64_t>::min()) return false;
      term.coefficient *= sign;
      sum.terms.push_back(std::move(term));
    }
    return true;
  };
  IndexForm sum;
  if (!add_rest(sum, a, b, 1) || !add_rest(sum, b, a, -1)) return {};
  return sum.range();
}

}  // namespace

bool covers(const AffineRegion& a, const AffineRegion& b) {
  for (std::size_t i = 0; i < a.sides.size(); ++i) {
    const AffineInterval& outer = a.sides[i];
    const AffineInterval& inner = b.sides[i];
    if (outer.is_whole) continue;
    const auto moved = inner.is_whole ? std::nullopt : difference(inner.base, outer.base);
    std::int64_t low = 0, high = 0;
    if (!moved || __builtin_add_overflow(inner.low, moved->first, &low) ||
        __builtin_add_overflow(inner.high, moved->second, &high)) {
      return false;
    }
    if (outer.low > low || outer.high < high) return false;
  }
  return true;
}

Ptr<Range> range_of_dimension(const AffineRegion& box, std::size_t dimension) {
  const AffineInterval& side = box.sides[dimension];
  const Expr& shape = box.buffer->shape[dimension];
  const DataType type = shape.dtype();
  if (side.is_whole) return range(zero_of(type), shape);
  const Expr first = IndexForms().write({.terms = side.base, .constant = side.low}, type);
  return range(first, int_imm(type, side.high - side.low + 1));
}

Expr in_bounds(const AffineRegion& box, std::size_t dimension, const Expr& index) {
  const AffineInterval& side = box.sides[dimension];
  if (side.is_whole) return {};
  IndexForm first{.terms = side.base, .constant = side.low};
  const auto values = first.range();
  const Expr& shape = box.buffer->shape[dimension];
  const auto extent = constant_extent(*box.buffer, dimension);
  Expr condition;
  if (!values || values->first < 0) condition = zero_of(index.dtype()) <= index;
  if (!values || !extent || values->second + (side.high - side.low) >= *extent) {
    const Expr below = index < shape;
    condition = condition.defined() ? condition && below : below;
  }
  return condition;
}

}  // namespace loopsmith
