// SPDX-License-Identifier: Apache-2.0
// Decision trees over sizes: which variant of a function runs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/tune/sizes/sizes.h"

namespace loopsmith::tune {

/// What runs with some sizes: one variant, in a leaf; else what one of two parts says.
struct SizeTree {
  int variant = 0;                   ///< What runs, in a leaf.
  std::string name = {};             ///< The size that decides between parts,
  std::int64_t threshold = 0;        ///< by whether it is below this.
  std::vector<SizeTree> parts = {};  ///< For sizes below, and for the others; none: a leaf.

  bool is_leaf() const { return parts.empty(); }
  /// The variant for some sizes, which have the names of the tree.
  int decide(const Sizes& sizes) const;
  /// A line for each question and each answer, indented.
  std::string text() const;
  /// Lists and numbers, as records have them.
  std::string as_json() const;
  /// The tree that `as_json` wrote. Throws a UserError where the text is none.
  static SizeTree from_json(std::string_view text);

  bool operator==(const SizeTree&) const = default;
};

/// A small tree that chooses a cheap variant for each point; `costs` has for each of them what each
/// variant costs, infinity where it cannot run.
///
/// It grows until each leaf has the cheapest variant of all its points, then loses the splits that
/// save little: classification trees of Breiman et al., "Classification and Regression Trees"
/// (1984), with the costs as the loss.
SizeTree fitted_tree(const std::vector<Sizes>& points,
                     const std::vector<std::vector<double>>& costs);

}  // namespace loopsmith::tune
