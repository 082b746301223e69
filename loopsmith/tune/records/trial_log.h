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
/// which version of the compiler, the name of a space, and the symbolic sizes of arguments, if any.
std::string search_key(const Ptr<PrimFunc>& func, const std::string& target,
                       const std::string& space, const Sizes& sizes = {});

/// The trials of a search, or of those for each of some sizes, by their keys, in a file of records.
class TrialLog {
 public:
  TrialLog(const Records& records, std::vector<std::string> searches);

  /// Writes the trials of one candidate, of each search or of the first ones: all of them or none.
  /// When this returns, they are on the disk.
  void add(const std::vector<LoggedTrial>& trials) const;
  /// The trials of each search, the oldest first.
  std::vector<std::vector<LoggedTrial>> all() const;

 private:
  std::string path_;
  std::vector<std::string> searches_;
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
