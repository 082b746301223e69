// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/boosted_trees.h"

#include <algorithm>
#include <numeric>

namespace loopsmith::tune {
namespace {

constexpr std::size_t rounds = 80;
constexpr std::size_t max_leaves = 15;
constexpr std::size_t min_rows = 4;  ///< Of a leaf.
constexpr double learning_rate = 0.1;
constexpr std::size_t max_bins = 64;
constexpr double min_gain = 1e-12;

/// A feature by the bins of its values: bin `b` has those above threshold b - 1, up to b.
struct Feature {
  std::vector<double> thresholds;
  std::vector<std::uint8_t> bins;  ///< Of each row.
};

Feature binned(const std::vector<std::vector<double>>& rows, std::size_t column) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(row[column]);
  std::ranges::sort(values);
  std::vector<double> distinct = values;
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  Feature feature;
  if (distinct.size() <= max_bins) {
    for (std::size_t i = 1; i < distinct.size(); ++i) {
      feature.thresholds.push_back((distinct[i - 1] + distinct[i]) / 2);
    }
  } else {
    for (std::size_t i = 1; i < max_bins; ++i) {
      const double quantile = values[i * values.size() / max_bins];
      const bool is_new = feature.thresholds.empty() || quantile > feature.thresholds.back();
      if (is_new && quantile < values.back()) feature.thresholds.push_back(quantile);
    }
  }
  for (const auto& row : rows) {
    const auto place = std::ranges::lower_bound(feature.thresholds, row[column]);
    feature.bins.push_back(static_cast<std::uint8_t>(place - feature.thresholds.begin()));
  }
  return feature;
}

/// Rows of a tree that are in one leaf, and how they are divided best.
struct Leaf {
  std::size_t node = 0;
  std::vector<std::size_t> rows;
  double sum = 0;
  std::size_t feature = 0, bin = 0;
  double gain = 0;
};

}  // namespace

/// Grows trees for the rows of some features.
class TreeBuilder {
 public:
  using Tree = std::vector<BoostedTrees::Node>;

  explicit TreeBuilder(const std::vector<std::vector<double>>& rows) {
    for (std::size_t i = 0; i < rows.front().size(); ++i) features_.push_back(binned(rows, i));
  }

  /// A tree that says of each row a share of its residual, which is taken off.
  Tree tree(std::vector<double>& residuals) const {
    Tree nodes(1);
    std::vector<Leaf> leaves(1);
    leaves[0].rows.resize(residuals.size());
    std::iota(leaves[0].rows.begin(), leaves[0].rows.end(), std::size_t{0});
    find_division(leaves[0], residuals);
    while (leaves.size() < max_leaves) {
      const auto best = std::ranges::max_element(leaves, {}, &Leaf::gain);
      if (best->gain <= min_gain) break;
      auto [below, above] = divided(*best, nodes);
      find_division(below, residuals);
      find_division(above, residuals);
      *best = std::move(below);
      leaves.push_back(std::move(above));
    }
    for (const Leaf& leaf : leaves) {
      double& value = nodes[leaf.node].value;
      value = learning_rate * leaf.sum / static_cast<double>(leaf.rows.size());
      for (const std::size_t row : leaf.rows) residuals[row] -= value;
    }
    return nodes;
  }

 private:
  /// What the squares of sums over counts are more than before, for the best of all divisions.
  void find_division(Leaf& leaf, const std::vector<double>& residuals) const {
    for (const std::size_t row : leaf.rows) leaf.sum += residuals[row];
    const auto count = static_cast<double>(leaf.rows.size());
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const Feature& feature = features_[i];
      double sums[max_bins] = {};
      std::size_t counts[max_bins] = {};
      for (const std::size_t row : leaf.rows) {
        sums[feature.bins[row]] += residuals[row];
        ++counts[feature.bins[row]];
      }
      double sum = 0;
      std::size_t below = 0;
      for (std::size_t bin = 0; bin < feature.thresholds.size(); ++bin) {
        sum += sums[bin];
        below += counts[bin];
        if (below < min_rows || leaf.rows.size() - below < min_rows) continue;
        const auto low = static_cast<double>(below);
        const double rest = leaf.sum - sum;
        const double gain =
            sum * sum / low + rest * rest / (count - low) - leaf.sum * leaf.sum / count;
        if (gain <= leaf.gain) continue;
        leaf.gain = gain;
        leaf.feature = i;
        leaf.bin = bin;
      }
    }
  }

  std::pair<Leaf, Leaf> divided(const Leaf& leaf, Tree& nodes) const {
    const Feature& feature = features_[leaf.feature];
    Leaf below{.node = nodes.size()}, above{.node = nodes.size() + 1};
    nodes.resize(nodes.size() + 2);
    nodes[leaf.node] = {.feature = static_cast<std::int32_t>(leaf.feature),
                        .threshold = feature.thresholds[leaf.bin],
                        .below = static_cast<std::int32_t>(below.node),
                        .above = static_cast<std::int32_t>(above.node)};
    for (const std::size_t row : leaf.rows) {
      (feature.bins[row] <= leaf.bin ? below : above).rows.push_back(row);
    }
    return {std::move(below), std::move(above)};
  }

  std::vector<Feature> features_;
};

BoostedTrees::BoostedTrees(const std::vector<std::vector<double>>& rows,
                           const std::vector<double>& labels) {
  if (rows.empty()) return;
  mean_ = std::accumulate(labels.begin(), labels.end(), 0.0) / static_cast<double>(labels.size());
  std::vector<double> residuals;
  for (const double label : labels) residuals.push_back(label - mean_);
  const TreeBuilder builder(rows);
  for (std::size_t i = 0; i < rounds; ++i) trees_.push_back(builder.tree(residuals));
}

double BoostedTrees::predict(const std::vector<double>& row) const {
  double said = mean_;
  for (const std::vector<Node>& tree : trees_) {
    const Node* node = tree.data();
    while (node->feature >= 0) {
      const bool is_below = row[static_cast<std::size_t>(node->feature)] <= node->threshold;
      node = &tree[static_cast<std::size_t>(is_below ? node->below : node->above)];
    }
    said += node->value;
  }
  return said;
}

}  // namespace loopsmith::tune
