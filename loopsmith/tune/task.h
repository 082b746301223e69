// SPDX-License-Identifier: Apache-2.0
// The search for a schedule of one function, step by step: what C++ and Python search by.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/exploration.h"

namespace loopsmith::tune {

/// What a task has found.
struct Found {
  Candidate candidate;
  Schedule schedule;           ///< What the candidate's trace gives.
  Outcome duel;                ///< The candidate beside what is to be beaten.
  bool is_checked = false;     ///< Compared with the program as it is written.
  double seconds = 0;          ///< Of a call of the candidate,
  double default_seconds = 0;  ///< and of what is to be beaten, beside it.
};

/// One function, called with arguments of the same sizes, and so with one search.
class Task : public Exploration {
 public:
  Task(Ptr<PrimFunc> func, TaskParts parts)
      : Exploration(std::move(func), std::move(parts), max_finalists) {}

  /// The quickest of so many candidates, each measured beside what is to be beaten, in turns; where
  /// none is as quick, of the candidates with which the space starts, too. The first of them is
  /// taken whose results are those of the program as it is written. With 0, the quickest so far is
  /// returned as it is. Throws a UserError where there is no candidate, or the results of all are
  /// others.
  Found best(std::size_t finalists = max_finalists);

  static constexpr std::size_t max_finalists = 3;

 private:
  using Dueled = std::pair<Outcome, const Candidate*>;

  std::vector<Dueled> dueled(std::size_t finalists) const;
  /// Measures a candidate beside what is to be beaten; appends it where that worked.
  void duel(const Candidate& candidate, std::vector<Dueled>& some) const;
  Found found_of(const Candidate& candidate, Outcome duel, bool is_checked) const;
};

}  // namespace loopsmith::tune
