// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/collapse_axes.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/walks.h"

namespace loopsmith {
namespace {

/// Two neighbouring axes: `column` moves by `cell.extent` elements.
struct Pair {
  Axis column;
  Axis cell;
};

bool uses(const Expr& expr, const Pair& pair) {
  return uses_variable(expr, pair.column.var) || uses_variable(expr, pair.cell.var);
}

/// The last two axes of the nest's first store, where the last starts at 0.
std::optional<Pair> pair_of(const Nest& nest, const std::vector<Axis>& axes) {
  const std::vector<NestAccess> accesses = accesses_in(nest.body);
  const auto store = std::ranges::find_if(accesses, &NestAccess::is_store);
  if (store == accesses.end() || store->indices.size() < 2) return std::nullopt;
  const auto axis_of = [&](const Expr& index) {
    return std::ranges::find_if(
        axes, [&](const Axis& axis) { return axis.var.same_as(index) && !axis.reduce; });
  };
  const auto cell = axis_of(store->indices.back());
  const auto column = axis_of(store->indices[store->indices.size() - 2]);
  if (cell == axes.end() || column == axes.end() || !is_const_int(cell->min, 0)) {
    return std::nullopt;
  }
  return Pair{*column, *cell};
}

/// By how many columns the access is ahead of the axis; null where it does not move like that.
Expr columns_ahead(const NestAccess& access, const Pair& pair) {
  const std::size_t rank = access.indices.size();
  if (rank < 2 || !is_compact(*access.buffer) ||
      !structural_equal(access.buffer->shape.back(), pair.cell.extent) ||
      !access.indices.back().same_as(pair.cell.var)) {
    return nullptr;
  }
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (uses(access.indices[d], pair)) return nullptr;
  }
  const Expr& column = access.indices[rank - 2];
  const Expr ahead = substitute(column, {{pair.column.var, zero_of(pair.column.var->dtype)}});
  const bool moves_alike =
      !uses(ahead, pair) && Analyzer().can_prove_equal(column, pair.column.var + ahead);
  return moves_alike ? ahead : nullptr;
}

}  // namespace

std::optional<Nest> with_collapsed_axes(const Nest& nest, std::vector<Axis>& axes,
                                        std::int64_t lanes, std::vector<Ptr<Buffer>>& views) {
  const std::optional<Pair> pair = pair_of(nest, axes);
  if (!pair || nest.init) return std::nullopt;
  const std::optional<std::int64_t> cells = constant_extent(pair->cell);
  if (cells && (*cells >= 2 * lanes || *cells == 1)) return std::nullopt;

  const Expr extents[] = {pair->column.extent, pair->cell.extent};
  const Expr total = number_of_points(extents);
  const DataType type = total.dtype();
  const Expr width = cast(type, pair->cell.extent);
  const Ptr<Var> merged = var(pair->column.var->name + "_" + pair->cell.var->name, type);
  std::vector<Ptr<Buffer>> made;
  std::unordered_map<Ref, Ptr<Buffer>, RefHash, RefEqual> view_of;
  bool moves_alike = true;
  const auto moved = [&](auto access, bool is_store) {
    const NestAccess element{access.buffer, access.indices, is_store};
    const bool is_fixed = !is_store && std::ranges::none_of(access.indices, [&](const Expr& index) {
      return uses(index, *pair);
    });
    if (is_fixed) return access;
    const Expr ahead = columns_ahead(element, *pair);
    moves_alike = moves_alike && ahead.defined();
    if (!moves_alike) return access;
    Ptr<Buffer>& view = view_of[access.buffer];
    if (!view) {
      Buffer flat = *access.buffer;
      flat.shape.pop_back();
      const Expr sides[] = {flat.shape.back(), pair->cell.extent};
      flat.shape.back() = number_of_points(sides);
      view = make(std::move(flat));
      made.push_back(view);
    }
    access.buffer = view;
    access.indices.pop_back();
    access.indices.back() = merged + cast(type, ahead) * width;
    return access;
  };
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
    return make(moved(BufferLoad(*rewrite.children(access)), /*is_store=*/false));
  });
  rewrite.on<BufferStore>([&](const BufferStore& access) -> Stmt {
    return make(moved(BufferStore(*rewrite.children(access)), /*is_store=*/true));
  });
  const Stmt body = rewrite(nest.body);
  const bool is_whole =
      moves_alike && !uses_variable(body, pair->column.var) && !uses_variable(body, pair->cell.var);
  if (!is_whole) return std::nullopt;

  const auto replace_in = [&](std::vector<Axis>& list) {
    std::erase_if(list, [&](const Axis& axis) { return axis.var.same_as(pair->cell.var); });
    for (Axis& axis : list) {
      if (axis.var.same_as(pair->column.var)) {
        axis = {merged, cast(type, pair->column.min) * width, total, false};
      }
    }
  };
  Nest result = nest;
  result.body = body;
  replace_in(result.axes);
  replace_in(axes);
  views.insert(views.end(), made.begin(), made.end());
  return result;
}

}  // namespace loopsmith
