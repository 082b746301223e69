// SPDX-License-Identifier: Apache-2.0
// Which elements of a tile of 16 x 16 each of the 32 threads of a warp holds.
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// What a tile is for.
enum class FragmentUse : std::uint8_t { left, right, results };

/// The row and the column of the element number `r` of thread `t`; each thread has 8.
struct FragmentLayout {
  Expr row, column;
};

/// How many neighbours along the steps of a sum each thread holds of an operand of a type: what
/// makes 32 bits.
inline int neighbours_of_thread(DataType dtype) {
  return 32 / dtype.bits;
}

/// The layout of tiles of a type, as `mma` takes and gives them (PTX ISA, "Matrix fragments for
/// mma.m16n8k16", of operands of 32 bits "mma.m16n8k8"); a tile of 16 columns is two of 8, of 16
/// steps of 32 bits two of 8. Transposed, rows and columns change places.
FragmentLayout fragment_layout(FragmentUse use, DataType dtype, bool is_transposed, const Expr& t,
                               const Expr& r);

/// The number of an element of a tile in the thread that holds it; which one that is, the layout of
/// this number says.
Expr element_number(FragmentUse use, DataType dtype, bool is_transposed, Expr row, Expr column);

/// The elements that are held, as the numbers of a warp and of its threads.
inline constexpr std::int64_t threads_of_warp = 32, elements_of_thread = 8, fragment_size = 16;

}  // namespace loopsmith
