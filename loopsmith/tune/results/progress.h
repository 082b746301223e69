// SPDX-License-Identifier: Apache-2.0
// Tells how far a search is.
#pragma once
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace loopsmith::tune {

/// How far the search for one function is.
struct FunctionProgress {
  std::string name;
  double best_seconds = std::numeric_limits<double>::infinity();  ///< Infinity: nothing yet.
  double default_seconds = 0;
  double limit_seconds = 0;  ///< What a call takes at least on this machine; 0: not known.
};

/// How far a search is.
struct SearchProgress {
  std::size_t done = 0, trials = 0;
  double elapsed = 0;
  double seconds_left = std::numeric_limits<double>::infinity();  ///< At most.
  std::vector<FunctionProgress> functions = {};
  std::map<std::string, int> failures = {};  ///< By their kinds.

  /// One line: trials and their rate, the best so far, failures, and the time left.
  std::string text() const;
};

/// Writes a line on the standard error whenever there is a new best, and every few seconds.
class ProgressLines {
 public:
  void update(const SearchProgress& progress);

 private:
  std::vector<double> best_;
  std::chrono::steady_clock::time_point written_ = {};
};

}  // namespace loopsmith::tune
