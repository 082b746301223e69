// SPDX-License-Identifier: Apache-2.0
// Which choices of a schedule mattered, by what was measured.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/tune/results/tried.h"

namespace loopsmith::tune {

/// What one choice was worth.
struct Effect {
  std::string line;  ///< The step that samples, as Python.
  double ratio = 1;  ///< The median time with the slowest decision over that with the quickest.
  /// Each decision with the median time, the quickest first.
  std::vector<std::pair<std::string, double>> decisions;

  std::string text() const;
};

/// The choices of a trace that were measured with two decisions, those that mattered most first.
/// Compared are the candidates with its steps.
std::vector<Effect> effects_of(const Trace& trace, const std::vector<Tried>& tried);
/// A line for each, or that there is none.
std::string effects_text(const std::vector<Effect>& effects);

}  // namespace loopsmith::tune
