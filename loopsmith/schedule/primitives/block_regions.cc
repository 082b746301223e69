// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/block_regions.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {
namespace {

Argument number(std::size_t count) {
  return Argument(static_cast<std::int64_t>(count));
}

std::optional<Refusal> refuse_side(std::string_view side) {
  if (side == "read" || side == "write") return {};
  return Refusal{&access_is_read_or_write, {Argument(side)}};
}

/// Which regions of the block are meant, and that it has all of these.
std::optional<Refusal> refuse_missing(const Schedule& schedule, BlockRV block,
                                      std::string_view side,
                                      const std::vector<std::int64_t>& indices) {
  if (auto refusal = refuse_side(side)) return refusal;
  const Block& target = schedule.get(block);
  const std::size_t count = (side == "write" ? target.writes : target.reads).size();
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= static_cast<std::int64_t>(count)) {
      return Refusal{&block_has_the_region, {Argument(block), Argument(index), Argument(side)}};
    }
  }
  return {};
}

}  // namespace

Planned<StorageAlignPlan> plan_storage_align(const Schedule& schedule,
                                             const StorageAlignArguments& arguments) {
  const Block& block = schedule.get(arguments.block);
  const auto selected = select_buffer(block, arguments.buffer_index, BufferSelector::Side::write);
  if (!selected || !selected->is_write) {
    return Refusal{&block_has_the_buffer, {Argument(arguments.block), Argument("writes")}};
  }
  const Argument buffer{Ref(selected->buffer)};
  if (arguments.factor < 1) {
    return Refusal{&alignment_is_positive, {Argument(arguments.factor)}};
  }
  const auto rank = static_cast<std::int64_t>(selected->buffer->shape.size());
  const std::int64_t axis = arguments.axis < 0 ? arguments.axis + rank : arguments.axis;
  if (axis < 0 || axis >= rank) {
    return Refusal{
        &number_is_in_range,
        {Argument("axis"), Argument(arguments.axis), Argument(-rank), Argument(rank - 1)}};
  }
  const NodeId owner = owner_of(schedule, schedule.node(arguments.block), selected->buffer);
  if (owner == no_node || schedule.as<PrimFunc>(owner)) {
    return Refusal{&buffer_is_allocated, {buffer}};
  }
  const auto index = static_cast<std::int64_t>(selected->index);
  List alignment;
  for (const std::int64_t item : {index, axis, arguments.factor, arguments.offset}) {
    alignment.items.push_back(int_imm(item == static_cast<std::int32_t>(item) ? i32 : i64, item));
  }
  const Ref known = block.annotations.get(alignments_key);
  List all = known.is<List>() ? *known.as<List>() : List{};
  // One for each dimension of a buffer: the last that was asked for.
  std::erase_if(all.items, [&](const Ref& item) {
    const auto* other = item.as<List>();
    return other && other->items.size() == 4 && is_const_int(Expr::from(other->items[0]), index) &&
           is_const_int(Expr::from(other->items[1]), axis);
  });
  all.items.push_back(make(std::move(alignment)));
  return StorageAlignPlan{arguments.block, make(std::move(all))};
}

Nothing commit_storage_align(Schedule& schedule, StorageAlignPlan&& plan) {
  Block& block = schedule.edit(plan.block);
  block.annotations = block.annotations.with(alignments_key, std::move(plan.alignments));
  return {};
}

Planned<HideAccessPlan> plan_hide_access(const Schedule& schedule,
                                         const HideAccessArguments& arguments) {
  const auto& hidden = arguments.buf_index_array;
  if (auto refusal = refuse_missing(schedule, arguments.block, arguments.buf_type, hidden)) {
    return *std::move(refusal);
  }
  HideAccessPlan plan{.block = arguments.block, .is_write = arguments.buf_type == "write"};
  const Block& block = schedule.get(arguments.block);
  const auto& regions = plan.is_write ? block.writes : block.reads;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (std::ranges::find(hidden, static_cast<std::int64_t>(i)) == hidden.end()) {
      plan.kept.push_back(regions[i]);
    }
  }
  return plan;
}

Nothing commit_hide_access(Schedule& schedule, HideAccessPlan&& plan) {
  Block& block = schedule.edit(plan.block);
  (plan.is_write ? block.writes : block.reads) = std::move(plan.kept);
  return {};
}

Planned<AnnotateAccessPlan> plan_annotate_access(const Schedule& schedule,
                                                 const AnnotateAccessArguments& arguments) {
  if (auto refusal =
          refuse_missing(schedule, arguments.block, arguments.buf_type, {arguments.buffer_index})) {
    return *std::move(refusal);
  }
  AnnotateAccessPlan plan{.block = arguments.block,
                          .is_write = arguments.buf_type == "write",
                          .index = static_cast<std::size_t>(arguments.buffer_index)};
  const Block& block = schedule.get(arguments.block);
  const BufferRegion& old = *(plan.is_write ? block.writes : block.reads)[plan.index];
  const IndexMap& map = *arguments.gen_new_ranges;
  if (map.initial_indices.size() != block.iter_vars.size() ||
      map.final_indices.size() != 2 * old.region.size()) {
    return Refusal{
        &ranges_fit_the_buffer,
        {number(map.initial_indices.size()), number(map.final_indices.size()),
         Argument(arguments.block), number(block.iter_vars.size()), Argument(Ref(old.buffer))}};
  }
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    axes[map.initial_indices[i]] = block.iter_vars[i]->var;
  }
  const IndexForms forms;
  BufferRegion region = old;
  for (std::size_t i = 0; i < region.region.size(); ++i) {
    const Expr start = substitute(map.final_indices[2 * i], axes);
    const Expr extent = substitute(map.final_indices[2 * i + 1], axes) - start;
    const auto form = forms.read(extent);
    region.region[i] = range(start, form ? forms.write(*form, extent.dtype()) : extent);
  }
  plan.region = make(std::move(region));
  return plan;
}

Nothing commit_annotate_access(Schedule& schedule, AnnotateAccessPlan&& plan) {
  Block& block = schedule.edit(plan.block);
  (plan.is_write ? block.writes : block.reads)[plan.index] = std::move(plan.region);
  const std::string_view key = plan.is_write ? "explicit_write_region" : "explicit_read_region";
  const auto index = static_cast<std::int64_t>(plan.index);
  block.annotations = block.annotations.with(key, int_imm(i32, index));
  return {};
}

}  // namespace loopsmith
