// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/expected_gain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace loopsmith::tune {
namespace {

/// So many predictions are compared with measurements before they tell anything.
constexpr std::size_t min_measured = 16;
/// At so many times the distribution of the best one is evaluated.
constexpr int points = 64;

/// The share of a standard normal distribution that lies below x.
double normal(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

}  // namespace

void ExpectedGain::predict(const std::map<std::string, double>& predicted) {
  predicted_ = predicted;
  std::erase_if(predicted_, [](const auto& each) { return !(each.second > 0); });
}

void ExpectedGain::measure(const std::string& program, double seconds) {
  const auto found = predicted_.find(program);
  if (found == predicted_.end()) return;
  if (seconds > 0) errors_.push_back(std::log(seconds / found->second));
  predicted_.erase(found);
}

double ExpectedGain::share_of(double best) const {
  if (errors_.size() < min_measured || !(best > 0) || !std::isfinite(best)) {
    return std::numeric_limits<double>::infinity();
  }
  const auto count = static_cast<double>(errors_.size());
  const double mean = std::accumulate(errors_.begin(), errors_.end(), 0.0) / count;
  double squares = 0;
  for (const double error : errors_) squares += (error - mean) * (error - mean);
  const double spread = std::max(std::sqrt(squares / (count - 1)), 1e-9);
  double gain = 0;
  for (int i = 0; i < points; ++i) {
    const double time = std::log((i + 0.5) / points);
    double all_slower = 1;
    for (const auto& [program, seconds] : predicted_) {
      all_slower *= normal((std::log(seconds / best) + mean - time) / spread);
    }
    gain += (1 - all_slower) / points;
  }
  return gain;
}

}  // namespace loopsmith::tune
