// SPDX-License-Identifier: Apache-2.0
// One function of several schedules of a program: its sizes decide, in a call, which of them runs.
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/tune/sizes/size_tree.h"

namespace loopsmith::tune {

/// A way to run a function, and when it is taken.
struct Variant {
  Ptr<PrimFunc> func;
  Expr condition;  ///< Over the function's sizes and numbers; undefined: always.
};

/// The function that runs the first of its variants whose condition holds.
/// All are schedules of one function, and so have its parameters; the last has no condition.
/// Throws a UserError where one has other parameters, or a condition is missing or one too many.
Ptr<PrimFunc> with_variants(const std::vector<Variant>& variants);

/// One function of some variants, which are schedules of one function, and which says that it is
/// scheduled: the tree decides which of them runs. Those that it does not name are left out. Throws
/// a UserError where it asks for a size that the function does not have.
Ptr<PrimFunc> with_size_tree(const std::vector<Ptr<PrimFunc>>& variants, const SizeTree& tree);

}  // namespace loopsmith::tune
