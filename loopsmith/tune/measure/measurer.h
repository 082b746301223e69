// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "loopsmith/tune/measure/outcome.h"
#include "loopsmith/tune/search/candidate.h"

namespace loopsmith::tune {

/// Whatever measures the candidates of one function, called with the arguments of a point: of one
/// of the sizes that were drawn, by its number.
struct Measurer {
  /// Checks and measures candidates, at once where it can: an outcome for each. One that takes
  /// longer than `best` may be measured once.
  std::function<std::vector<Outcome>(const std::vector<Candidate>&, std::size_t point, double best)>
      measure;
  /// Measures what every candidate has to beat.
  std::function<Outcome(std::size_t point)> measure_reference;
  /// Measures a candidate beside that, in turns, warm and cold.
  std::function<Outcome(const Candidate&, std::size_t point)> duel;
  /// Compares what a candidate gives with what the program gives as it is written.
  std::function<Outcome(const Candidate&, std::size_t point)> check;
  std::size_t parallelism = 1;  ///< So many are measured at once.
  std::size_t batch = 1;        ///< So many are made ready at once,
  std::function<void(const std::vector<Candidate>&)> prepare = {};  ///< by this, if there is one.
};

}  // namespace loopsmith::tune
