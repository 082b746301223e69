// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace loopsmith::tune {
namespace {

/// The place of each value in their order; equal ones share the middle place.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
  }
  return ranks;
}

}  // namespace

double rank_correlation(const std::vector<double>& first, const std::vector<double>& second) {
  const std::vector<double> left = ranks_of(first), right = ranks_of(second);
  const double mean = (static_cast<double>(first.size()) - 1) / 2;
  double top = 0, spread_left = 0, spread_right = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    top += (left[i] - mean) * (right[i] - mean);
    spread_left += (left[i] - mean) * (left[i] - mean);
    spread_right += (right[i] - mean) * (right[i] - mean);
  }
  const double spread = std::sqrt(spread_left) * std::sqrt(spread_right);
  return spread > 0 ? top / spread : 0;
}

}  // namespace loopsmith::tune
