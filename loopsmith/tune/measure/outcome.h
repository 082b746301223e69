// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace loopsmith::tune {

/// What became of a candidate that was measured, or checked.
struct Outcome {
  std::vector<double> samples = {};     ///< Seconds of calls.
  std::vector<double> others = {};      ///< Of a duel: seconds of the other program's calls.
  std::vector<double> cold = {};        ///< Of a duel: seconds of calls whose data is in no cache,
  std::vector<double> other_cold = {};  ///< and of the other program's.
  /// What kind of failure it was: one of those below; empty where it was none.
  std::string failure = {};
  std::string detail = {};  ///< What was said of it.
  double flops = 0;         ///< Operations of a call; 0 where that is not known,
  double bytes = 0;         ///< and how many bytes its tensors have.
};

inline constexpr const char* compile_error = "compile error";
inline constexpr const char* compile_timeout = "compile timeout";
inline constexpr const char* run_error = "run error";
inline constexpr const char* wrong_result = "wrong result";
inline constexpr const char* crash = "crash";
inline constexpr const char* timeout = "timeout";
inline constexpr const char* no_time = "no time";
inline constexpr const char* not_compared = "not compared";

/// A failure, and what was said of it.
inline std::string failure_text(const std::string& failure, const std::string& detail) {
  return failure.empty() || detail.empty() ? failure : failure + ": " + detail;
}

}  // namespace loopsmith::tune
