// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "loopsmith/schedule/queries/recurrence.h"

namespace loopsmith {

/// A recurrence that is cut into parts of that many iterations: totals of each, what each starts
/// with, and each at once.
struct ScanParts {
  std::vector<Ptr<Buffer>> buffers;  ///< To be allocated around.
  Stmt totals, carries, parts;
  std::vector<Ptr<Var>> loops;  ///< Over the parts, of these three.
  Stmt last;  ///< Stores the last value where all values are kept in one element; else null.
};

/// Theorem. Let `x' = f_i(x)`, where the composition of f_i to f_j is again of a form that a few
/// numbers tell: of an associative operation the combined operands, of a linear one a factor and a
/// summand. Then the value before iteration k is what the composition of all earlier ones makes of
/// the first, and parts of the iterations need nothing else of each other. That the operands are
/// the same whenever they are computed, and that what else the loop does needs nothing of other
/// parts, is asked elsewhere.
/// Iterations behind a guard, which holds in those of a beginning, change no value.
/// `function` is the one that gets them; `loop` is read without its body.
///
/// With a tile, of so many parts what iterations need is computed into shared memory, and what they
/// store is stored from there, by loops over the iterations of all these parts; the loops of
/// totals and parts that are given are those over tiles.
ScanParts scan_parts(Schedule& schedule, std::uint32_t function, const For& loop,
                     const Recurrence& recurrence, const Expr& guard, std::span<const Stmt> stores,
                     std::int64_t length, std::int64_t tile);

}  // namespace loopsmith
