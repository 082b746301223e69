// SPDX-License-Identifier: Apache-2.0
// What a variable of a function holds where it is read, as an expression of the loops around.
#pragma once
#include <span>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A statement with values in the place of loads of a variable; without its stores where no load is
/// left.
struct KnownScalar {
  Stmt statement;
  int replaced = 0;          ///< Loads whose value is known.
  int left = 0;              ///< Loads that stay.
  bool is_in_block = false;  ///< Some of its uses are in blocks, and stay.
};

/// Finds the values of an integer in a buffer of one element. All uses of its memory are loads and
/// stores of this buffer in `root`, in which nothing jumps. `around`: The variables of loops
/// around.
///
/// Theorem. Each load that is replaced would give the value of what takes its place.
///
/// Proof. By induction over what has run. A value is an expression e of sizes and of variables of
/// loops around, none of which changes while it is in scope; it is dropped where one of them leaves
/// its scope. After `x = e` x is e. After a branch, x is what both sides leave, where that is the
/// same. A loop that does not store to x leaves it as it was. Else let an iteration that finds b
/// leave f(b, i), of iterations i = min + t * step, t = 0, 1, ..., n - 1, one after another:
///
/// - f(b, i) = b: x stays as it was.
/// - f(b, i) = b + c, where c depends on no variable of the loop: iteration t finds v + c * t where
///   the first one finds v, by induction over t, and v + c * n is left, n not being negative.
/// - f(b, i) = g(i): the first iteration finds v, a later one g(i - step), which the one before
///   left; g(min + (n - 1) * step) is left where n > 0, and v else.
///
/// Whole numbers of 32 bits and more are computed as if they never overflowed, as everywhere; where
/// numbers tell that terms would though x does not, the value counts as unknown.
KnownScalar with_known_values(const Stmt& root, const Ptr<Buffer>& scalar,
                              std::span<const Ptr<Var>> around);

}  // namespace loopsmith
