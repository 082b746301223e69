// SPDX-License-Identifier: Apache-2.0
// Which of the schedules that were measured with some sizes become variants, and where each runs.
#pragma once
#include <vector>

#include "loopsmith/tune/sizes/size_tree.h"

namespace loopsmith::tune {

/// Seconds of calls, one for each of the sizes that were drawn.
using SizeTimes = std::vector<double>;

/// What was measured with some sizes.
struct SizedRow {
  Sizes sizes;
  double weight = 0;
  double seconds = 0;          ///< Of a call of the variant that the tree takes,
  double default_seconds = 0;  ///< with the default schedule, measured beside it,
  double best_seconds = 0;     ///< and of the quickest of all that was measured.
  int variant = 0;             ///< 0: the default schedule.
};

/// Which variant runs, and what that takes.
struct SizeDecision {
  SizeTree tree;
  std::vector<SizedRow> rows;  ///< One for each of the sizes.
};

/// The quicker ones of two schedules' times.
SizeTimes quicker(const SizeTimes& first, const SizeTimes& second);

/// At most so many of the schedules that were found, which together save most beside the default
/// one: to those chosen already, each step adds the one that saves most of the weighted time. One
/// at least.
std::vector<std::size_t> chosen_variants(const std::vector<DrawnSizes>& points,
                                         const SizeTimes& default_times,
                                         const std::vector<SizeTimes>& found, std::size_t count);

/// A tree between the default schedule, which is variant 0, and others; `best` has the least times
/// that were measured before.
SizeDecision decided(const std::vector<DrawnSizes>& points, const SizeTimes& default_times,
                     const std::vector<SizeTimes>& variants, const SizeTimes& best);

/// How many times as quick as the default schedule: the weighted geometric mean.
double speedup_of(const std::vector<SizedRow>& rows);

}  // namespace loopsmith::tune
