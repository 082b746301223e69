// SPDX-License-Identifier: Apache-2.0
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with the
// block of the column operand in the second cache.
#include "loopsmith/rules/schedule_products.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/packing.h"
#include "loopsmith/schedule/primitives/annotate.h"
#include "loopsmith/schedule/primitives/blockize.h"
#include "loopsmith/schedule/primitives/cache_expression.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/pad_axes.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reindex.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/tensorize.h"

namespace loopsmith {
namespace {

/// Of what is copied across memory, so many elements of a line are used while they are at hand.
constexpr std::int64_t line_elements = 16;

bool is_axis(const Axis& a, const Axis& b) {
  return a.var.same_as(b.var);
}

void append(std::vector<LoopRV>& list, const std::vector<LoopRV>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

/// A block that copies an operand into panels, and what it copies.
struct PanelCopy {
  const Panel* panel;
  Axis across;  ///< The axis along which a panel is as wide as a tile.
  std::int64_t width;
  BlockRV block;
  std::vector<Axis> axes;  ///< Those that it runs through, in the order of its loops.
};

class ProductSteps {
 public:
  ProductSteps(Schedule& schedule, const Packing& packing, const Nest& nest,
               const RuleContext& context)
      : schedule_(schedule),
        packing_(packing),
        form_(packing.form),
        nest_(nest),
        context_(context),
        sums_(nest.block),
        results_(nest.block) {}

  /// Whether the nest could be taken; else steps are left half done.
  bool take(const std::vector<NestLoop>& loops);

 private:
  void give_sums_a_place(const std::vector<NestLoop>& loops);
  void pad();
  PanelCopy copy(const Panel& panel, const Axis& across, std::int64_t width);
  bool tile_results();
  std::vector<LoopRV> cut_rows(std::vector<LoopRV> items, LoopRV tiles);
  void sum_in_tile();
  bool is_grouped(const Axis& axis) const;
  std::vector<LoopRV> cut_groups(LoopRV steps, std::int64_t size);
  void fill_panel(const PanelCopy& copy, const std::optional<LoopRV>& place);
  void choose_kinds();
  void run_on_threads();
  bool pads() const { return !form_.columns_fit || !divides(form_.row_axis, form_.tile.rows); }
  bool has_guards() const;

  Schedule& schedule_;
  const Packing& packing_;
  const PackedForm& form_;
  const Nest& nest_;
  const RuleContext& context_;
  BlockRV sums_, results_;
  std::vector<Axis> axes_;  ///< Of the block of sums, in their order; that of blocks is `block_`.
  std::optional<Axis> block_axis_;
  std::optional<LoopRV> block_loop_;  ///< Over blocks of the reduction.
  std::vector<LoopRV> tasks_;
  std::optional<LoopRV> group_;  ///< Over rows of tiles that are copied together.
  std::optional<LoopRV> tile_;   ///< The loop whose iterations are tiles.
  std::optional<BlockRV> init_;
};

/// Puts the sums of a tile, or of a block of the reduction, into a buffer of their own.
void ProductSteps::give_sums_a_place(const std::vector<NestLoop>& loops) {
  for (const Ptr<IterVar>& axis : schedule_.get(nest_.block).iter_vars) {
    axes_.push_back(*std::ranges::find_if(
        nest_.axes, [&](const Axis& each) { return each.var.same_as(axis->var); }));
  }
  if (!form_.is_cut()) {
    results_ = cache_write(schedule_, sums_, 0, "local");
    return;
  }
  const auto first = std::ranges::find_if(
      loops, [&](const NestLoop& each) { return is_axis(each.axis, form_.reduction[0]); });
  const auto [block, rest] = split(schedule_, first->loop, {infer, packing_.blocks.size}).take<2>();
  static_cast<void>(rest);
  sums_ = rfactor(schedule_, block, 0);
  set_scope(schedule_, sums_, 0, "local");
  const Ptr<IterVar>& number = schedule_.get(sums_).iter_vars[0];
  block_axis_ = Axis{.var = number->var, .min = number->dom->min, .extent = number->dom->extent};
  axes_.insert(axes_.begin(), *block_axis_);
}

void ProductSteps::pad() {
  std::vector<std::int64_t> padding;
  for (const Axis& axis : axes_) {
    const bool is_row = is_axis(axis, form_.row_axis), is_column = is_axis(axis, form_.vector_axis);
    const std::int64_t size = is_row ? form_.tile.rows : is_column ? form_.tile.width() : 1;
    padding.push_back(divides(axis, size) ? 1 : size);
  }
  const bool is_needed = std::ranges::any_of(padding, [](std::int64_t each) { return each > 1; });
  if (is_needed) pad_axes(schedule_, sums_, padding);
}

/// Lets the sums read an operand from panels as wide as a tile, in the order in which they do.
PanelCopy ProductSteps::copy(const Panel& panel, const Axis& across, std::int64_t width) {
  PanelCopy made{.panel = &panel, .across = across, .width = width, .block = {}, .axes = {}};
  IndexMap map;
  std::vector<Expr> outer, inner;
  Expr group;  // The place in a group of steps; null where steps are taken one by one.
  const Ptr<Buffer> source = accesses_in(make(Evaluate{.value = panel.source}))[0].buffer;
  for (const Axis& axis : axes_) {
    const Ptr<Var> index = var(axis.var->name, axis.var->dtype);
    map.initial_indices.push_back(index);
    const bool is_number = block_axis_ && is_axis(axis, *block_axis_);
    const Axis& used = is_number ? form_.reduction[0] : axis;
    if (!uses_variable(panel.source, used.var)) continue;
    made.axes.push_back(axis);
    if (is_axis(axis, across)) continue;
    if (is_grouped(axis)) {
      const Expr neighbours = int_imm(index->dtype, form_.steps_together->group);
      inner.push_back(floordiv(index, neighbours));
      group = floormod(index, neighbours);
      continue;
    }
    (axis.reduce ? inner : outer).push_back(index);
  }
  const auto number =
      std::ranges::find_if(axes_, [&](const Axis& axis) { return is_axis(axis, across); }) -
      axes_.begin();
  const Expr index = map.initial_indices[static_cast<std::size_t>(number)];
  const Expr size = int_imm(index.dtype(), width);
  map.final_indices = outer;
  map.final_indices.push_back(floordiv(index, size));
  map.final_indices.insert(map.final_indices.end(), inner.begin(), inner.end());
  const Expr place = floormod(index, size);
  if (!group.defined()) {
    map.final_indices.push_back(place);
    made.block = cache_expression(schedule_, sums_, source->name, "global", make(std::move(map)));
    return made;
  }
  const Expr neighbours = int_imm(place.dtype(), form_.steps_together->group);
  map.final_indices.push_back(place * neighbours + group);
  made.block = reindex_cache_read(schedule_, sums_, source->name, "global", make(std::move(map)));
  return made;
}

/// Cuts the rows of tiles, of all `items`, into those of a task, of a group, and of one tile.
std::vector<LoopRV> ProductSteps::cut_rows(std::vector<LoopRV> items, LoopRV tiles) {
  if (!items.empty()) {
    items.push_back(tiles);
    reorder(schedule_, items);
    tiles = fuse(schedule_, items);
  }
  std::vector<LoopRV> parts;
  const std::int64_t count = *as_int(packing_.item_count());
  const std::int64_t rows = packing_.grid.rows;
  if (rows < count) {
    const Factor size =
        context_.number(schedule_, rows, {std::max<std::int64_t>(rows / 2, 1), rows * 2});
    const auto [task, inner] = split(schedule_, tiles, {infer, size}).take<2>();
    tasks_.push_back(task);
    tiles = inner;
  }
  if (!form_.rows.empty() && std::min(rows, count) > packing_.tiles_together()) {
    const auto [group, inner] =
        split(schedule_, tiles, {infer, packing_.tiles_together()}).take<2>();
    group_ = group;
    parts.push_back(group);
    tiles = inner;
  }
  parts.push_back(tiles);
  return parts;
}

/// Cuts the loops over the results into tasks, blocks of the reduction, and tiles.
bool ProductSteps::tile_results() {
  const BlockRealize& realize = schedule_.realize(results_);
  const Handles<LoopRV> loops = get_loops(schedule_, results_);
  std::vector<LoopRV> items, outer;
  std::optional<LoopRV> rows, columns;
  const std::vector<Expr>& indices = form_.combination->indices;
  for (const LoopRV loop : loops) {
    const Ptr<Var>& variable = schedule_.get(loop).loop_var;
    const auto value = std::ranges::find_if(
        realize.iter_values, [&](const Expr& each) { return each.same_as(variable); });
    if (value == realize.iter_values.end()) {
      outer.push_back(loop);
      continue;
    }
    const auto number = static_cast<std::size_t>(value - realize.iter_values.begin());
    // Of a copy of the results, axes are their dimensions.
    const Expr axis =
        form_.is_cut() ? Expr(realize.block->iter_vars[number]->var) : indices[number];
    const auto is_this = [&](const Axis& each) { return each.var.same_as(axis); };
    if (is_this(form_.row_axis)) {
      rows = loop;
    } else if (is_this(form_.vector_axis)) {
      columns = loop;
    } else if (realize.block->iter_vars[number]->iter_type == IterType::comm_reduce) {
      block_loop_ = loop;
    } else {
      (std::ranges::any_of(packing_.items, is_this) ? items : outer).push_back(loop);
    }
  }
  if (!rows || !columns || block_loop_.has_value() != form_.is_cut()) return false;
  tasks_ = outer;
  const auto [row_tiles, row] = split(schedule_, *rows, {infer, form_.tile.rows}).take<2>();
  auto [column_tiles, column] = split(schedule_, *columns, {infer, form_.tile.width()}).take<2>();
  if (!items.empty()) {
    std::vector<LoopRV> order = outer;
    append(order, items);
    append(order, {row_tiles, column_tiles});
    if (block_loop_) order.push_back(*block_loop_);
    append(order, {row, column});
    reorder(schedule_, order);
  }
  const std::vector<LoopRV> row_parts = cut_rows(items, row_tiles);
  const std::int64_t panels = *as_int(tiles_along(form_.vector_axis, form_.tile.width()));
  const std::int64_t wide = packing_.grid.columns;
  if (wide < panels) {
    const Factor size =
        context_.number(schedule_, wide, {std::max<std::int64_t>(wide / 2, 1), wide * 2});
    const auto [task, inner] = split(schedule_, column_tiles, {infer, size}).take<2>();
    tasks_.push_back(task);
    column_tiles = inner;
  }
  const auto [vector, lane] = split(schedule_, column, {infer, form_.tile.lanes}).take<2>();
  std::vector<LoopRV> order = tasks_;
  if (block_loop_) order.push_back(*block_loop_);
  append(order, row_parts);
  append(order, {column_tiles, row, vector, lane});
  reorder(schedule_, order);
  tile_ = column_tiles;
  return true;
}

/// Whether several steps of the axis are summed by one instruction.
bool ProductSteps::is_grouped(const Axis& axis) const {
  return form_.steps_together && is_axis(axis, form_.steps_together->steps);
}

/// The loop over groups of steps, and that over the steps of one.
std::vector<LoopRV> ProductSteps::cut_groups(LoopRV steps, std::int64_t size) {
  const auto [group, step] = split(schedule_, steps, {infer, size}).take<2>();
  return {group, step};
}

/// Computes the sums of a tile where it is written: cleared, summed up, stored.
void ProductSteps::sum_in_tile() {
  compute_at(schedule_, sums_, *tile_, /*preserve_unit_loops=*/true);
  const Handles<LoopRV> loops = get_loops(schedule_, sums_);
  const std::size_t first = loops.size() - axes_.size();
  std::vector<LoopRV> order, reduction, groups;
  std::optional<LoopRV> row, column;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const LoopRV loop = loops[first + i];
    if (is_axis(axes_[i], form_.row_axis)) {
      row = loop;
    } else if (is_axis(axes_[i], form_.vector_axis)) {
      column = loop;
    } else if (is_grouped(axes_[i])) {
      groups = cut_groups(loop, form_.steps_together->depth);
    } else {
      (axes_[i].reduce ? reduction : order).push_back(loop);
    }
  }
  const auto [vector, lane] = split(schedule_, *column, {infer, form_.tile.lanes}).take<2>();
  if (!groups.empty()) reduction.push_back(groups[0]);
  const LoopRV outermost = reduction[0];
  append(order, reduction);
  append(order, {*row, vector, lane});
  if (!groups.empty()) order.push_back(groups[1]);
  reorder(schedule_, order);
  if (!groups.empty()) sums_ = blockize(schedule_, lane);
  init_ = decompose_reduction(schedule_, sums_, outermost);
}

/// Copies the panels of a task, or of a group of rows, where it begins.
void ProductSteps::fill_panel(const PanelCopy& copy, const std::optional<LoopRV>& place) {
  if (place) compute_at(schedule_, copy.block, *place, /*preserve_unit_loops=*/true);
  const Handles<LoopRV> loops = get_loops(schedule_, copy.block);
  const std::size_t first = loops.size() - copy.axes.size();
  std::vector<LoopRV> order, steps, groups;
  std::optional<LoopRV> across;
  for (std::size_t i = 0; i < copy.axes.size(); ++i) {
    const LoopRV loop = loops[first + i];
    if (is_axis(copy.axes[i], copy.across)) {
      across = loop;
    } else if (is_grouped(copy.axes[i])) {
      groups = cut_groups(loop, form_.steps_together->group);
    } else {
      (copy.axes[i].reduce ? steps : order).push_back(loop);
    }
  }
  if (!groups.empty()) steps.push_back(groups[0]);
  if (is_contiguous_along(*copy.panel, copy.across)) {
    const auto [tile, vector, lane] =
        split(schedule_, *across,
              {infer, std::max<std::int64_t>(copy.width / form_.tile.lanes, 1),
               std::min(copy.width, form_.tile.lanes)})
            .take<3>();
    order.push_back(tile);
    append(order, steps);
    append(order, {vector, lane});
    if (!groups.empty()) order.push_back(groups[1]);
    reorder(schedule_, order);
    unroll(schedule_, vector);
    vectorize(schedule_, lane);
    if (!groups.empty()) vectorize(schedule_, groups[1]);
    return;
  }
  const auto [tile, column] = split(schedule_, *across, {infer, copy.width}).take<2>();
  order.push_back(tile);
  if (steps.empty()) return;
  const auto [line, step] = split(schedule_, steps.back(), {infer, line_elements}).take<2>();
  steps.pop_back();
  append(order, steps);
  append(order, {line, column, step});
  if (!groups.empty()) order.push_back(groups[1]);
  reorder(schedule_, order);
  if (!groups.empty()) vectorize(schedule_, groups[1]);
}

void ProductSteps::choose_kinds() {
  const bool has_vectors = form_.steps_together.has_value();
  if (has_vectors) tensorize(schedule_, sums_, form_.steps_together->intrin.c_str());
  for (const BlockRV block : {sums_, *init_, results_}) {
    const bool is_of_vectors = has_vectors && block.index != results_.index;
    const Handles<LoopRV> loops = get_loops(schedule_, block);
    const std::size_t end = loops.size() - (is_of_vectors ? 0 : 1);
    unroll(schedule_, loops[end - 2]);
    unroll(schedule_, loops[end - 1]);
    if (!is_of_vectors) vectorize(schedule_, loops.back());
  }
  if (!has_vectors) return;
  const BlockRV inside = get_child_blocks(schedule_, *init_)[0];
  vectorize(schedule_, get_loops(schedule_, inside).back());
}

/// True where tiles or tasks are not all whole.
bool ProductSteps::has_guards() const {
  const std::int64_t items = *as_int(packing_.item_count());
  const std::int64_t panels = *as_int(tiles_along(form_.vector_axis, form_.tile.width()));
  return pads() || items % std::min(items, packing_.grid.rows) != 0 ||
         panels % std::min(panels, packing_.grid.columns) != 0;
}

void ProductSteps::run_on_threads() {
  if (!context_.has_threads() || tasks_.empty()) return;
  const LoopRV all = tasks_.size() == 1 ? tasks_[0] : fuse(schedule_, tasks_);
  if (!is_const_int(schedule_.get(all).extent, 1)) run_in_threads(schedule_, all, context_);
}

bool ProductSteps::take(const std::vector<NestLoop>& loops) {
  give_sums_a_place(loops);
  pad();
  std::vector<PanelCopy> columns, rows;
  for (const Panel& panel : form_.columns) {
    columns.push_back(copy(panel, form_.vector_axis, form_.tile.width()));
  }
  for (const Panel& panel : form_.rows) {
    rows.push_back(copy(panel, form_.row_axis, form_.tile.rows));
  }
  if (!tile_results()) return false;
  sum_in_tile();
  std::optional<LoopRV> place = block_loop_;
  if (!place && !tasks_.empty()) place = tasks_.back();
  for (const PanelCopy& each : rows) fill_panel(each, group_ ? group_ : place);
  for (const PanelCopy& each : columns) fill_panel(each, place);
  if (block_loop_) decompose_reduction(schedule_, results_, *block_loop_);
  // Before an intrinsic hides which elements of a panel are read, and that they are the task's own.
  run_on_threads();
  choose_kinds();
  if (!has_guards()) return true;
  // No copy of the loops without the conditions of the last ones is worth its code.
  const Handles<LoopRV> around = get_loops(schedule_, results_);
  for (std::size_t i = 0; i + 3 < around.size(); ++i) {
    annotate(schedule_, around[i], "pragma_loop_partition_hint", 0);
  }
  // But for what is stored: one test for a tile is less than one for each of its vectors.
  if (pads()) annotate(schedule_, around[around.size() - 3], "pragma_loop_partition_hint", 1);
  return true;
}

/// True where the results are combined of single operands, and each index of them is an axis.
bool is_plain(const Packing& packing) {
  const PackedForm& form = packing.form;
  if (form.dot_product || !form.combination || form.combination->condition.defined()) return false;
  const auto is_axis_of_nest = [&](const Expr& index) {
    return std::ranges::any_of(form.nest.axes, [&](const Axis& axis) {
      return axis.var.same_as(index) && is_const_int(axis.min, 0);
    });
  };
  return std::ranges::all_of(form.combination->indices, is_axis_of_nest);
}

}  // namespace

bool schedule_products(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const auto points = point_count(nest.axes);
  if (nest.reduction().empty() || !points || *points == 0 || !nest.streamed.empty()) return false;
  std::optional<Packing> packing;
  if (auto dots = dot_packing_of(nest, context.machine); dots && dots->is_whole()) {
    packing = std::move(dots->packing);
  } else {
    packing = packing_of(nest, context.machine);
  }
  if (!packing || !is_plain(*packing) || !is_const_int(packing->pays(), 1)) return false;
  const auto loops = look_up_loops(schedule, nest);
  if (!loops) return false;
  choose_grid(*packing, context.machine);
  return ProductSteps(schedule, *packing, nest, context).take(*loops);
}

}  // namespace loopsmith
