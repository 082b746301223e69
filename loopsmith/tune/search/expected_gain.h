// SPDX-License-Identifier: Apache-2.0
// What the candidates that are left are expected to save.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace loopsmith::tune {

/// How far predictions were off, and what that lets the best of the others hope for.
///
/// As in the expected improvement of Jones, Schonlau, Welch, "Efficient Global Optimization of
/// Expensive Black-Box Functions" (1998), but of all candidates that are left at once: the simple
/// regret of stopping now. The logarithms of measured times over predicted ones are taken for
/// normally distributed and independent.
class ExpectedGain {
 public:
  /// Takes note of what is predicted of candidates, by their programs; forgets what was.
  void predict(const std::map<std::string, double>& predicted);
  /// Takes note of what a candidate was measured to take.
  void measure(const std::string& program, double seconds);
  /// What the best one left is expected to save, as a share of the best time so far. Infinity
  /// before there is enough to go by.
  double share_of(double best) const;

 private:
  std::map<std::string, double> predicted_;
  std::vector<double> errors_;  ///< Logarithms of measured over predicted times.
};

}  // namespace loopsmith::tune
