// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/size_choice.h"

#include <algorithm>
#include <cmath>

namespace loopsmith::tune {
namespace {

/// Another variant has to save this share of the time.
constexpr double variant_gain = 0.01;

}  // namespace

SizeTimes quicker(const SizeTimes& first, const SizeTimes& second) {
  SizeTimes least;
  for (std::size_t i = 0; i < first.size(); ++i) least.push_back(std::min(first[i], second[i]));
  return least;
}

std::vector<std::size_t> chosen_variants(const std::vector<DrawnSizes>& points,
                                         const SizeTimes& default_times,
                                         const std::vector<SizeTimes>& found, std::size_t count) {
  SizeTimes best = default_times, together = default_times;
  for (const SizeTimes& times : found) best = quicker(best, times);
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(count, found.size())) {
    std::size_t next = 0;
    double most = -1;
    for (std::size_t which = 0; which < found.size(); ++which) {
      double gain = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double saved = together[i] - found[which][i];
        if (saved > 0) gain += points[i].weight * saved / best[i];
      }
      if (gain > most) {
        most = gain;
        next = which;
      }
    }
    if (!chosen.empty() && most < variant_gain) break;
    chosen.push_back(next);
    together = quicker(together, found[next]);
  }
  return chosen;
}

SizeDecision decided(const std::vector<DrawnSizes>& points, const SizeTimes& default_times,
                     const std::vector<SizeTimes>& variants, const SizeTimes& best) {
  std::vector<SizeTimes> columns = {default_times};
  columns.insert(columns.end(), variants.begin(), variants.end());
  std::vector<Sizes> sizes;
  std::vector<std::vector<double>> costs;
  SizeTimes least = best;
  for (std::size_t i = 0; i < points.size(); ++i) {
    sizes.push_back(points[i].sizes);
    std::vector<double> row;
    for (const SizeTimes& column : columns) row.push_back(column[i]);
    const double quickest = std::ranges::min(row);
    least[i] = std::min(least[i], quickest);
    for (double& cost : row) cost *= points[i].weight / quickest;
    costs.push_back(std::move(row));
  }
  SizeDecision made{.tree = fitted_tree(sizes, costs), .rows = {}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int variant = made.tree.decide(points[i].sizes);
    made.rows.push_back({.sizes = points[i].sizes,
                         .weight = points[i].weight,
                         .seconds = columns[static_cast<std::size_t>(variant)][i],
                         .default_seconds = default_times[i],
                         .best_seconds = least[i],
                         .variant = variant});
  }
  return made;
}

double speedup_of(const std::vector<SizedRow>& rows) {
  double logarithm = 0, weights = 0;
  for (const SizedRow& row : rows) {
    logarithm += row.weight * std::log(row.default_seconds / row.seconds);
    weights += row.weight;
  }
  return std::exp(logarithm / weights);
}

}  // namespace loopsmith::tune
