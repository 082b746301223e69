// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/fragment_layout.h"

#include <utility>

#include "loopsmith/ir/operators.h"

namespace loopsmith {

namespace {

// Results are like operands of 16 bits.
bool is_operand_of(int bits, FragmentUse use, DataType dtype) {
  return dtype.bits == bits && use != FragmentUse::results;
}
bool lie_four_together(FragmentUse use, DataType dtype) {
  return is_operand_of(8, use, dtype);
}
bool lie_apart(FragmentUse use, DataType dtype) {
  return is_operand_of(32, use, dtype);
}

}  // namespace

FragmentLayout fragment_layout(FragmentUse use, DataType dtype, bool is_transposed, const Expr& t,
                               const Expr& r) {
  const bool has_bytes = lie_four_together(use, dtype);
  const Expr group = floordiv(t, 4), place = floormod(t, 4);
  const Expr neighbour = has_bytes ? place * 4 + floormod(r, 4) : place * 2 + floormod(r, 2);
  const Expr second = floormod(floordiv(r, 2), 2) * 8, fourth = floordiv(r, 4) * 8;
  FragmentLayout layout;
  if (has_bytes) {
    layout = {group + fourth, neighbour};
  } else if (lie_apart(use, dtype)) {
    layout = use == FragmentUse::right
                 ? FragmentLayout{group + fourth, place + floormod(r, 4) * 4}
                 : FragmentLayout{group + floormod(r, 2) * 8, place + floordiv(r, 2) * 4};
  } else if (use == FragmentUse::right) {
    layout = {group + fourth, neighbour + second};
  } else {
    layout = {group + second, neighbour + fourth};
  }
  // Of the right operand the neighbours are steps of the sum, its rows.
  if ((use == FragmentUse::right) != is_transposed) std::swap(layout.row, layout.column);
  return layout;
}

Expr element_number(FragmentUse use, DataType dtype, bool is_transposed, Expr row, Expr column) {
  if ((use == FragmentUse::right) != is_transposed) std::swap(row, column);
  const auto upper = [](const Expr& index) { return floormod(floordiv(index, 8), 2); };
  if (lie_four_together(use, dtype)) return floormod(column, 4) + upper(row) * 4;
  if (lie_apart(use, dtype)) {
    const Expr part = floormod(floordiv(column, 4), 4);
    return use == FragmentUse::right ? part + upper(row) * 4 : part * 2 + upper(row);
  }
  if (use == FragmentUse::right) std::swap(row, column);
  const Expr& neighbour = use == FragmentUse::right ? row : column;
  return floormod(neighbour, 2) + upper(row) * 2 + upper(column) * 4;
}

}  // namespace loopsmith
