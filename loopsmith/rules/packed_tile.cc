// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/dot_product_packing.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/packed_form.h"

namespace loopsmith {
namespace {

Expr last_of(const Axis& axis) {
  return axis.extent - int_imm(axis.extent.dtype(), 1);
}

Substitution at_result(const PackedForm& form, Substitution values, const Expr& row,
                       const Expr& column) {
  values[form.row_axis.var] = form.row_at(row);
  values[form.vector_axis.var] = form.column_at(column);
  return values;
}

/// An expression of the nest on copies of its operands, in a row and a column of a tile.
template <class Node>
Node on_copies(const PackedForm& form, const PackedTile& tile, const Substitution& values,
               const Node& node, const Expr& row, const Expr& column) {
  const auto copied = [&](const Expr& number, const Expr& place) {
    return [&](const Panel& panel) {
      return load(panel.copy, indices_in_copy(panel, tile.block, values, number, place));
    };
  };
  return with_panels(with_panels(node, form.columns, copied(tile.panel, column)), form.rows,
                     copied(tile.row_panel, row));
}

/// Adds the products of pairs to a tile's sums, a vector at a time.
Stmt add_pairs(const PackedForm& form, const PackedTile& tile, const Substitution& values,
               const TileResults& sums) {
  const Combination& combination = *form.combination;
  const auto& product = *combination.source.as<Mul>();
  const DataType type = form.vector_axis.extent.dtype();
  const auto vector_at = [&](const Expr& row, const Expr& vector) {
    const int lanes = static_cast<int>(form.tile.lanes);
    const Expr column = make(
        Ramp{.base = vector * int_imm(type, lanes), .stride = int_imm(type, 1), .lanes = lanes});
    const Substitution here = at_result(form, values, tile.top + row, tile.begin);
    const auto operand = [&](const Expr& pair) {
      return clone_with(on_copies(form, tile, values, pair, row, column), here);
    };
    const Expr sum = add_pair_products(*form.dot_product, sums.at(combination.target, row, column),
                                       operand(product.a), operand(product.b));
    return sums.set(combination.target, sum, row, column);
  };
  const std::string& name = form.row_axis.var->name;
  return loop(name + "_i", int_imm(type, form.tile.rows), ForKind::unrolled, [&](const Expr& row) {
    return loop(name + "_v", int_imm(type, form.tile.vectors), ForKind::unrolled,
                [&](const Expr& vector) { return vector_at(row, vector); });
  });
}

/// The combination, or the body, of the nest, on copies of its operands.
Stmt combined(const PackedForm& form, const PackedTile& tile, const Substitution& values,
              const TileResults& sums, const Expr& row, const Expr& column) {
  const Substitution here = at_result(form, values, tile.top + row, tile.begin + column);
  const auto copied = [&](const auto& node) {
    return on_copies(form, tile, values, node, row, column);
  };
  if (!form.combination) return sums.redirected(at(copied(form.nest.body), here), row, column);
  Combination combination = *form.combination;
  combination.source = copied(combination.source);
  combination.condition = copied(combination.condition);
  const Expr sum = sums.at(combination.target, row, column);
  return sums.set(combination.target,
                  combination.combine(sum, combination.source_at(here, /*mask=*/{})), row, column);
}

/// Those results of the tile that there are.
Stmt write_back(const PackedForm& form, const PackedTile& tile, const TileResults& from) {
  const auto at_offsets = [&](const Expr& row, const Expr& column) {
    Substitution all = tile.values;
    all[form.row_axis.var] = form.row_at(tile.top + row);
    all[form.vector_axis.var] = form.vector_axis.min + (tile.begin + column);
    return from.write_back(all, row, column);
  };
  if (!form.goes_aside()) return each_result(form.tile, form.vector_axis, at_offsets);
  const Expr columns =
      form.columns_fit ? form.width() : min(form.width(), form.vector_axis.extent - tile.begin);
  const Axis places{form.vector_axis.var, zero_of(columns.dtype()), columns, false};
  const Expr rows = int_imm(form.row_axis.extent.dtype(), form.tile.rows);
  return loop(form.row_axis.var->name + "_i", rows, ForKind::serial, [&](const Expr& row) {
    return vectorized_loop(places, form.tile.lanes,
                           [&](const Expr& column) { return at_offsets(row, column); });
  });
}

/// Sums of blocks are added up: fewer roundings follow each other than in one long sum.
bool starts_neutral(const PackedForm& form) {
  return form.combination &&
         structural_equal(form.combination->initial, form.combination->neutral());
}

Stmt clear_aside(const PackedForm& form, const TileResults& aside) {
  const Expr rows = int_imm(form.row_axis.extent.dtype(), form.tile.rows);
  const Expr width = form.width();
  const Axis places{form.vector_axis.var, zero_of(width.dtype()), width, false};
  return loop(form.row_axis.var->name + "_i", rows, ForKind::serial, [&](const Expr& row) {
    return vectorized_loop(places, form.tile.lanes, [&](const Expr& column) {
      return aside.set(form.combination->target, form.combination->neutral(), row, column);
    });
  });
}

}  // namespace

Expr PackedForm::width() const {
  return int_imm(vector_axis.extent.dtype(), tile.width());
}

bool PackedForm::is_cut() const {
  return !is_const_int(block_count, 1);
}

Expr PackedForm::top_of(const Expr& tile_row) const {
  const Expr rows = int_imm(row_axis.extent.dtype(), tile.rows);
  const Expr top = tile_row * rows;
  return last_rows == LastRows::overlap ? min(top, row_axis.extent - rows) : top;
}

Expr PackedForm::row_at(const Expr& offset) const {
  const bool repeats = last_rows == LastRows::repeat;
  return row_axis.min + (repeats ? min(offset, last_of(row_axis)) : offset);
}

Expr PackedForm::column_at(const Expr& offset) const {
  return vector_axis.min + (columns_fit ? offset : min(offset, last_of(vector_axis)));
}

Stmt packed_tile(const PackedForm& form, const PackedTile& tile, const TileResults& aside) {
  const TileResults sums(form.nest, form.tile, "_tile", "local");
  const auto each = [&](const std::function<Stmt(const Expr&, const Expr&)>& body) {
    return each_result(form.tile, form.vector_axis, body);
  };
  const auto copy = [&](const TileResults& to, const TileResults& from) {
    return each(
        [&](const Expr& row, const Expr& column) { return to.copy_from(from, row, column); });
  };
  const Stmt clear = each([&](const Expr& row, const Expr& column) {
    const Substitution all = at_result(form, tile.values, tile.top + row, tile.begin + column);
    return sums.redirected(at(form.nest.init, all), row, column);
  });
  const Stmt update = loops_over(tile.block, tile.values, [&](const Substitution& all) {
    if (form.dot_product) return add_pairs(form, tile, all, sums);
    return each([&](const Expr& row, const Expr& column) {
      return combined(form, tile, all, sums, row, column);
    });
  });
  const DataType type = tile.number.dtype();
  const Expr is_first = tile.number == zero_of(type);
  const Expr is_last = tile.number == form.block_count - int_imm(type, 1);
  const bool adds_up = form.is_cut() && starts_neutral(form);
  const bool takes_up = form.is_cut() && !adds_up;
  const Stmt save = adds_up ? each([&](const Expr& row, const Expr& column) {
    const Combination& combination = *form.combination;
    const Expr all = combination.combine(aside.at(combination.target, row, column),
                                         sums.at(combination.target, row, column));
    return aside.set(combination.target, all, row, column);
  })
                            : copy(aside, sums);
  const Stmt written = guarded(is_last, write_back(form, tile, form.goes_aside() ? aside : sums));
  std::vector<Ptr<Buffer>> buffers = sums.buffers();
  if (form.goes_aside() && !form.is_cut())
    std::ranges::copy(aside.buffers(), std::back_inserter(buffers));
  return with_buffers(form.nest.name + "_tile", buffers,
                      seq({takes_up ? either(is_first, clear, copy(sums, aside)) : clear, update,
                           adds_up ? guarded(is_first, clear_aside(form, aside)) : no_op(),
                           form.goes_aside() ? save : no_op(), written}));
}

}  // namespace loopsmith
