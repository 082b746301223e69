// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace loopsmith::tune {

/// Spearman's correlation of two lists: 1 where both have the same order, 0 where one has none.
double rank_correlation(const std::vector<double>& first, const std::vector<double>& second);

}  // namespace loopsmith::tune
