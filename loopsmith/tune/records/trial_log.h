// SPDX-License-Identifier: Apache-2.0
// What searches have measured, kept so that others go on where they ended.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/tune/records/records.h"
#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/sizes/size_choice.h"

namespace loopsmith::tune {

/// A candidate that was measured, as it is kept.
struct LoggedTrial {
  std::string program;            ///< Its hash.
  std::string trace;              ///< Its steps, as JSON.
  std::optional<double> seconds;  ///< Of a call; nothing: it failed.
};

/// What is the same for searches that continue each other: a program, what it is compiled for, by
/// which version of the compiler, the name of a space, and one of several sizes, if there are.
std::string search_key(const Ptr<PrimFunc>& func, const std::string& target,
                       const std::string& space, const Sizes& sizes = {});

/// The trials of the searches with a key, in a file of records.
class TrialLog {
 public:
  TrialLog(const Records& records, std::string search);

  /// Writes a trial. When this returns, it is on the disk.
  void add(const LoggedTrial& trial) const;
  /// The trials, the oldest first.
  std::vector<LoggedTrial> all() const;

 private:
  std::string path_;
  std::string search_;
};

/// A candidate, and what a call took with each of some sizes.
using Timed = std::pair<Candidate, SizeTimes>;

/// Lets the searches for some sizes go on after trials of earlier ones, each after its own: the
/// quickest have descendants, and a model that learns is told of the latest. What was measured with
/// all sizes, or failed with one, is not proposed again. Returns the quickest of those measured
/// with all, at most `count`, the quickest first. A trace that this version of the compiler refuses
/// is left out.
std::vector<Timed> resume(const std::vector<Search*>& searches,
                          const std::vector<std::vector<LoggedTrial>>& trials, std::size_t count);

}  // namespace loopsmith::tune
