// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/task.h"

#include <algorithm>
#include <iterator>

#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measure/measurement.h"

namespace loopsmith::tune {
namespace {

/// How many times as quick as the other program, in the pair in the middle.
double speedup_in(const Outcome& duel) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(duel.samples.size(), duel.others.size()); ++i) {
    ratios.push_back(duel.others[i] / duel.samples[i]);
  }
  return ratios.empty() ? 0 : median(std::move(ratios));
}

}  // namespace

void Task::duel(const Candidate& candidate, std::vector<Dueled>& some) const {
  Outcome outcome = measurer().duel(candidate, 0);
  if (outcome.failure.empty()) some.emplace_back(std::move(outcome), &candidate);
}

std::vector<Task::Dueled> Task::dueled(std::size_t finalists) const {
  std::vector<Dueled> some, starts;
  for (std::size_t i = 0; i < std::min(finalists, found().size()); ++i) {
    duel(found()[i].first, some);
  }
  const auto is_quicker = [](const Dueled& left, const Dueled& right) {
    return speedup_in(left.first) > speedup_in(right.first);
  };
  std::ranges::stable_sort(some, is_quicker);
  if (!some.empty() && speedup_in(some.front().first) >= 1) return some;
  // Nothing found is as quick as what is to be beaten, which may be of the space itself.
  for (const Candidate& start : searches().front().search->started()) duel(start, starts);
  starts.insert(starts.end(), std::make_move_iterator(some.begin()),
                std::make_move_iterator(some.end()));
  return starts;
}

Found Task::best(std::size_t finalists) {
  require_found();
  const Candidate& quickest = found().front().first;
  if (finalists == 0) return found_of(quickest, {}, false);
  std::vector<Dueled> duels = dueled(finalists);
  if (duels.empty()) duels.emplace_back(Outcome(), &quickest);
  std::string wrong;
  for (auto& [duel, candidate] : duels) {
    Outcome checked = measurer().check(*candidate, 0);
    if (checked.failure != wrong_result) {
      return found_of(*candidate, std::move(duel), checked.failure.empty());
    }
    wrong = std::move(checked.detail);
  }
  fail(ErrorKind::user, "default_schedule_is_right",
       hint("compare what it gives with the default schedule and without: sums of many numbers of "
            "both signs differ by rounding; pass other arguments"),
       {},
       "tune: {}: the program without a schedule gives other results than the default schedule and "
       "the candidates: {}",
       func()->name(), wrong);
}

Found Task::found_of(const Candidate& candidate, Outcome duel, bool is_checked) const {
  Schedule schedule(func(), 1);
  candidate.trace.apply_to(schedule);
  check(structural_equal(candidate_of(schedule).func, candidate.func), "tune",
        "the trace of the winner of {} gives another program", func()->name());
  const double seconds = duel.samples.empty() ? best_seconds() : median(duel.samples);
  const double other = duel.others.empty() ? default_seconds() : median(duel.others);
  return {.candidate = candidate,
          .schedule = std::move(schedule),
          .duel = std::move(duel),
          .is_checked = is_checked,
          .seconds = seconds,
          .default_seconds = other};
}

}  // namespace loopsmith::tune
