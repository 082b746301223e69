// SPDX-License-Identifier: Apache-2.0
// What a decision tree over sizes asks, as a condition for each variant.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "loopsmith/tune/sizes/size_tree.h"

namespace loopsmith::tune {

/// A variant, and when it runs, where those before it do not; undefined: always.
struct VariantCondition {
  int variant;
  Expr condition;
};

/// The variants of a tree with short conditions over a function's sizes; the last has none.
///
/// A path of the tree bounds each size on two sides. Paths to one variant that touch are one, and a
/// bound goes where what it keeps out is what a variant before it takes. Paths that no sizes take
/// are left out. Throws a UserError where the tree asks for a size that the function does not have.
std::vector<VariantCondition> size_conditions(const SizeTree& tree, const PrimFunc& func);

}  // namespace loopsmith::tune
