// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/packed_form.h"

namespace loopsmith {
namespace {

std::vector<Axis> axes_of(const Panel& panel, const std::vector<Axis>& block) {
  std::vector<Axis> axes;
  for (const std::size_t axis : panel.axes) axes.push_back(block[axis]);
  return axes;
}

/// So many elements of a line of memory are used while they are at hand.
constexpr std::int64_t elements_together = 16;

/// The axes but the last, around a body for a few points of that one at a time: `body` gets those
/// that it loops over itself.
Stmt across_memory(const std::vector<Axis>& axes, const Substitution& values,
                   const std::function<Stmt(const std::vector<Axis>&, const Substitution&)>& body) {
  if (axes.empty()) return body({}, values);
  const Axis& last = axes.back();
  const Expr sections = ceildiv(last.extent, int_imm(last.extent.dtype(), elements_together));
  return loops_over({axes.begin(), axes.end() - 1}, values, [&](const Substitution& outer) {
    return loop(last.var->name + "_o", sections, ForKind::serial, [&](const Expr& number) {
      const auto [first, count] = section_of(last.extent, elements_together, number);
      return body({{last.var, last.min + first, count, true}}, outer);
    });
  });
}

/// Columns beyond the last are copies of it: whatever is computed of them cannot fail.
Stmt copy_column(const PackedForm& form, const Panel& panel, const std::vector<Axis>& block,
                 const Substitution& values, const Expr& number, const Expr& begin) {
  const Axis& axis = form.vector_axis;
  const DataType type = axis.extent.dtype();
  const std::vector<Axis> axes = axes_of(panel, block);
  const auto value_at = [&](Substitution all, const Expr& column) {
    all[axis.var] = column;
    return clone_with(panel.source, std::move(all));
  };
  const auto put = [&](const Substitution& all, const Expr& place, const Expr& value) {
    return store(panel.copy, value, indices_in_copy(panel, block, all, number, place));
  };
  if (!is_contiguous_along(panel, axis)) {
    return across_memory(axes, values, [&](const std::vector<Axis>& some, const Substitution& at) {
      return loop(axis.var->name + "_i", form.width(), ForKind::serial, [&](const Expr& column) {
        return loops_over(some, at, [&](const Substitution& all) {
          return put(all, column, value_at(all, form.column_at(begin + column)));
        });
      });
    });
  }
  const RegisterTile row{.vectors = form.tile.vectors, .lanes = form.tile.lanes};
  const Stmt whole = loops_over(axes, values, [&](const Substitution& all) {
    return each_result(row, axis, [&](const Expr&, const Expr& column) {
      return put(all, column, value_at(all, axis.min + (begin + column)));
    });
  });
  if (form.columns_fit) return whole;
  const Expr left = axis.extent - begin;
  const Axis places{axis.var, zero_of(type), form.width(), false};
  const Stmt masked = loops_over(axes, values, [&](const Substitution& all) {
    const Expr last = value_at(all, axis.min + (axis.extent - int_imm(type, 1)));
    return vectorized_loop(places, form.tile.lanes, [&](const Expr& column) {
      const Expr value = value_at(all, axis.min + (begin + column));
      return put(all, column, if_then_else(column < left, value, last));
    });
  });
  return either(min(form.width(), left) == form.width(), whole, masked);
}

}  // namespace

Stmt copy_columns(const PackedForm& form, const std::vector<Axis>& block,
                  const Substitution& values, const Expr& panel, const Expr& begin) {
  std::vector<Stmt> copies;
  for (const Panel& each : form.columns) {
    copies.push_back(copy_column(form, each, block, values, panel, begin));
  }
  return seq(std::move(copies));
}

Stmt copy_rows(const PackedForm& form, const std::vector<Axis>& block, const Expr& count,
               const std::function<Substitution(const Expr&)>& values_at) {
  const Axis& axis = form.row_axis;
  const Expr rows = int_imm(axis.extent.dtype(), form.tile.rows);
  return loop(axis.var->name + "_o", count, ForKind::serial, [&](const Expr& number) {
    const Substitution values = values_at(number);
    const Expr& top = values.at(axis.var);
    const auto copy = [&](const Panel& panel, ForKind kind,
                          const std::function<Expr(const Expr&)>& row_at) {
      return loops_over(axes_of(panel, block), values, [&](Substitution all) {
        return loop(axis.var->name + "_i", rows, kind, [&](const Expr& row) {
          all[axis.var] = row_at(top + row);
          return store(panel.copy, clone_with(panel.source, all),
                       indices_in_copy(panel, block, all, number, row));
        });
      });
    };
    std::vector<Stmt> copies;
    for (const Panel& panel : form.rows) {
      const Stmt whole =
          copy(panel, ForKind::vectorized, [&](const Expr& offset) { return axis.min + offset; });
      if (form.last_rows != PackedForm::LastRows::repeat) {
        copies.push_back(whole);
        continue;
      }
      const Stmt part =
          copy(panel, ForKind::serial, [&](const Expr& offset) { return form.row_at(offset); });
      copies.push_back(either(min(rows, axis.extent - top) == rows, whole, part));
    }
    return seq(std::move(copies));
  });
}

}  // namespace loopsmith
