// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/inline_value.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

/// What is inside, as far as inlining asks.
struct Contents {
  bool has_effect = false;
  bool defines_variables = false;
};

Contents contents_of(const Expr& expr) {
  Contents found;
  pre_order_visit(expr, [&](const Ref& ref) {
    if (const auto* call = ref.as<Call>()) found.has_effect |= !call->op.is_pure();
    found.defines_variables |= ref.is<Let>() || ref.is<Reduce>();
    return !ref.is<Buffer>();
  });
  return found;
}

bool is_point(const BufferRegion& region) {
  return std::ranges::all_of(region.region,
                             [](const auto& range) { return is_const_int(range->extent, 1); });
}

std::vector<Expr> point_of(const BufferRegion& region) {
  std::vector<Expr> point;
  for (const auto& range : region.region) point.push_back(range->min);
  return point;
}

const BufferRegion* region_of(const std::vector<Ptr<BufferRegion>>& regions, const Buffer* buffer) {
  for (const auto& region : regions) {
    if (region->buffer.get() == buffer) return region.get();
  }
  return nullptr;
}

/// The axes as digits of the indices, where these are independent sums of digits of axes.
std::vector<Expr> axes_from_digits(const Block& block, const std::vector<Expr>& element,
                                   const std::vector<Expr>& indices) {
  std::vector<Iterator> iterators;
  for (const auto& axis : block.iter_vars) {
    iterators.push_back({axis->var, axis->dom->min, axis->dom->extent});
  }
  Analyzer analyzer;
  const IterMapResult map =
      detect_iter_map(element, iterators, {.level = IterMapLevel::bijective}, analyzer);
  if (!map.ok()) return {};
  const Substitution inverse = inverse_affine_iter_map(map.indices, indices, analyzer).value();
  std::vector<Expr> axes;
  for (const auto& axis : block.iter_vars) {
    const auto found = inverse.find(axis->var);
    const bool is_told = found != inverse.end();
    if (!is_told && !is_const_int(axis->dom->extent, 1)) return {};
    axes.push_back(is_told ? analyzer.simplify(found->second) : axis->dom->min);
  }
  return axes;
}

Substitution values_of_axes(const Block& block, const std::vector<Expr>& values) {
  Substitution result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Ptr<Var>& axis = block.iter_vars[i]->var;
    result[axis] = cast(axis->dtype, values[i]);
  }
  return result;
}

}  // namespace

bool accesses_elements(const Block& block, const Buffer& buffer) {
  bool is_so = true;
  pre_order_visit(Ref(&block), [&](const Ref& ref) {
    if (const auto* match = ref.as<MatchBufferRegion>()) {
      is_so = is_so && match->source->buffer.get() != &buffer;
    }
    if (const auto* load = ref.as<BufferLoad>()) {
      is_so = is_so && (load->buffer.get() != &buffer || load->dtype.is_scalar());
    }
    is_so = is_so && !ref.same_as(buffer.data) && !is_view_of(ref, buffer);
    return is_so && !ref.is<Buffer>();
  });
  return is_so;
}

Planned<ElementValue> element_value_of(const Schedule& schedule, BlockRV handle) {
  const Block& block = schedule.get(handle);
  if (block.init) return Refusal{&block_has_no_init, {Argument(handle)}};
  ElementValue element;
  std::vector<const LetStmt*> lets;
  const Stmt* body = &block.body;
  while (const auto* let = body->as<LetStmt>()) {
    lets.push_back(let);
    body = &let->body;
  }
  const auto* store = body->as<BufferStore>();
  if (!store || store->predicate.defined() || block.writes.size() != 1 ||
      !block.alloc_buffers.empty() || !block.match_buffers.empty() ||
      !store->value.dtype().is_scalar()) {
    return Refusal{&body_is_one_store, {Argument(handle)}};
  }
  element.buffer = store->buffer;
  element.indices = store->indices;
  element.value = store->value;
  for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
    element.value = make(Let{.value = (*let)->value, .var = (*let)->var, .body = element.value});
  }
  const Contents contents = contents_of(element.value);
  if (contents.has_effect) return changed_results(block_has_no_effects, {Argument(handle)});
  element.defines_variables = contents.defines_variables;
  return element;
}

std::vector<Expr> axes_from_indices(const Block& block, const std::vector<Expr>& element,
                                    const std::vector<Expr>& indices) {
  std::vector<Expr> axes(block.iter_vars.size());
  const IndexForms forms = forms_of_axes(block);
  const auto axis_of = [&](const Expr& var) {
    const auto found = std::ranges::find_if(
        block.iter_vars, [&](const auto& axis) { return axis->var.same_as(var); });
    return static_cast<std::size_t>(found - block.iter_vars.begin());
  };
  for (std::size_t d = 0; d < element.size(); ++d) {
    const auto form = forms.read(element[d]);
    if (!form || form->terms.size() != 1) continue;
    const IndexTerm& term = form->terms[0];
    if (term.kind != IndexTerm::Kind::variable) continue;
    const std::size_t axis = axis_of(term.atom);
    if (axis == axes.size() || axes[axis].defined()) continue;
    const DataType type = indices[d].dtype();
    if (term.coefficient == 1) axes[axis] = indices[d] - int_imm(type, form->constant);
    if (term.coefficient == -1) axes[axis] = int_imm(type, form->constant) - indices[d];
  }
  bool is_told = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Range& domain = *block.iter_vars[i]->dom;
    if (!axes[i].defined() && is_const_int(domain.extent, 1)) axes[i] = domain.min;
    is_told = is_told && axes[i].defined();
  }
  return is_told ? axes : axes_from_digits(block, element, indices);
}

Expr Inliner::value_at(const std::vector<Expr>& indices, const IndexForms& known) const {
  std::vector<Expr> axes = axes_from_indices(*producer_, element_.indices, indices);
  // Digits of a layout, put together again.
  for (Expr& axis : axes) {
    if (const auto form = known.read(axis)) axis = known.write(*form, axis.dtype());
  }
  Substitution values = values_of_axes(*producer_, axes);
  return element_.defines_variables ? clone_with(element_.value, std::move(values))
                                    : substitute(element_.value, values);
}

std::vector<Ptr<BufferRegion>> Inliner::reads_after(const Block& before, const Block& after) const {
  // Where one element was read, what it was made of is read in its place.
  const BufferRegion* old = region_of(before.reads, element_.buffer.get());
  if (!old) return after.reads;
  if (!is_point(*old)) return access_regions(after).reads;
  const Substitution values =
      values_of_axes(*producer_, axes_from_indices(*producer_, element_.indices, point_of(*old)));
  std::vector<Ptr<BufferRegion>> reads;
  for (std::size_t k = 0; k < before.reads.size(); ++k) {
    if (before.reads[k].get() != old) {
      reads.push_back(after.reads[k]);
      continue;
    }
    for (const auto& input : producer_->reads) {
      BufferRegion moved = *input;
      for (auto& part : moved.region) {
        part = range(substitute(part->min, values), substitute(part->extent, values));
      }
      reads.push_back(make(std::move(moved)));
    }
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool is_written = after.init && region_of(after.writes, reads[i]->buffer.get());
    const bool is_twice = region_of(reads, reads[i]->buffer.get()) != reads[i].get();
    if (is_written || is_twice) return access_regions(after).reads;
  }
  return reads;
}

void Inliner::operator()(Schedule& schedule, const Place& place) const {
  const IndexForms known = known_inside(schedule, place.node);
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    const Ptr<BufferLoad> inside = rewrite.children(load);
    if (!inside->buffer.same_as(element_.buffer)) return inside;
    return value_at(inside->indices, known);
  });
  rewrite.on<Block>([&](const Block& block) {
    const Ptr<Block> inside = rewrite.children(block);
    if (!region_of(block.reads, element_.buffer.get())) return inside;
    Block copy = *inside;
    copy.reads = reads_after(block, *inside);
    return make(std::move(copy));
  });
  const NodeId node = place.node;
  if (place.slot != no_node) {
    Stmt& stmt = const_cast<Stmt&>(*statement_in(schedule.edit(node), place.slot));
    stmt = rewrite(stmt);
    return;
  }
  const auto* realize = schedule.as<BlockRealize>(node);
  const bool is_leaf = realize && schedule.at(node).first_child == no_node;
  if (!is_leaf) {
    replace_alike(schedule, node, rewrite(schedule.statement(node)));
    return;
  }
  BlockRealize& target = schedule.edit_realize(schedule.block_at(node));
  for (Expr& value : target.iter_values) value = rewrite(value);
  target.predicate = rewrite(target.predicate);
  const Ptr<Block> before = target.block;
  Block after = *before;
  after.body = rewrite(after.body);
  if (after.init) after.init = rewrite(after.init);
  // What a region is may be said by indices that are read.
  for (auto* regions : {&after.reads, &after.writes}) {
    for (auto& region : *regions) region = rewrite(region);
  }
  after.reads = reads_after(*before, after);
  target.block = make(std::move(after));
}

}  // namespace loopsmith
