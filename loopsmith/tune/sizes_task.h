// SPDX-License-Identifier: Apache-2.0
// The search for schedules of one function whose sizes vary: what C++ and Python search by.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/exploration.h"

namespace loopsmith::tune {

/// What a task of several sizes has found: the variants from 1 on, and what decides between them.
struct FoundSizes {
  std::vector<Schedule> schedules;
  SizeDecision decision;
  bool is_checked = false;  ///< Compared with the program as it is written.
};

/// One function, several sizes. What is chosen is a few of the schedules that were measured with
/// all of them, and a tree that decides between them.
class SizesTask : public Exploration {
 public:
  /// The reference is what is to be beaten, and variant 0; at most so many variants are beside it.
  SizesTask(Ptr<PrimFunc> func, Ptr<PrimFunc> reference, std::size_t max_variants, TaskParts parts);

  /// The variants that together save most, each measured beside the reference with each size, in
  /// turns, and compared with the program as it is written, as one function. Otherwise, they are
  /// as they were measured. Throws a UserError where there is no candidate, or their function
  /// gives other results.
  FoundSizes best(bool is_measured_again = true) const;

 private:
  /// Schedules, and their times beside those of the reference.
  struct Chosen {
    SizeTimes default_times;
    std::vector<const Candidate*> candidates = {};
    std::vector<SizeTimes> times = {};
  };

  /// How long a candidate takes with each size, as shares of the reference's times beside it, which
  /// are noted; nothing where it failed.
  std::optional<SizeTimes> dueled(const Candidate& candidate,
                                  std::vector<std::vector<double>>& defaults) const;
  Chosen measured_again(const Chosen& chosen) const;
  /// Whether the function of the variants was compared with the program as it is written.
  bool is_checked(const FoundSizes& found) const;

  Ptr<PrimFunc> reference_;
  std::size_t max_variants_;
};

}  // namespace loopsmith::tune
