// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace loopsmith::tune {

/// A sum of regression trees, each fitted to what those before it leave over.
///
/// Gradient boosting of squared errors: Friedman, "Greedy Function Approximation" (2001). The
/// values of a feature are divided into bins, and trees grow by the leaf that gains most, as in Ke
/// et al., "LightGBM" (2017). The same for the same rows.
class BoostedTrees {
 public:
  /// Trees that say 0.
  BoostedTrees() = default;
  /// Trees that say of each row what its label says, about. All rows have the same features.
  BoostedTrees(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels);

  double predict(const std::vector<double>& row) const;

 private:
  /// A question, whether a feature is at most a threshold; without a feature, the answer.
  struct Node {
    std::int32_t feature = -1;
    double threshold = 0;
    std::int32_t below = 0, above = 0;  ///< The nodes for yes and for no.
    double value = 0;
  };
  friend class TreeBuilder;

  double mean_ = 0;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace loopsmith::tune
