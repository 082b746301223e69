// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/task.h"

#include <algorithm>
#include <iterator>
#include <limits>

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

void require_candidate(bool has_one, const std::string& func, std::size_t trials,
                       const std::string& said) {
  require(has_one, "a_candidate_works", hint("give more trials or seconds, or another space"),
          "tune: {}: none of {} candidates could be built and measured; {}", func, trials,
          said.empty() ? "there was no time for one" : said);
}

Task::Task(Ptr<PrimFunc> func, std::shared_ptr<Search> search, TaskParts parts)
    : func_(std::move(func)),
      search_(std::move(search)),
      parts_(std::move(parts)),
      reference_(parts_.measurer.measure_reference()),
      default_seconds_(time_of(reference_)) {
  for (auto& [candidate, seconds] : resume(*search_, parts_.earlier, max_finalists)) {
    rank(std::move(candidate), seconds);
  }
  parts_.earlier.clear();
}

std::size_t Task::step(std::size_t limit, const HasTime& has_time) {
  const Measurer& measurer = parts_.measurer;
  const std::size_t before = times_.count(),
                    at_once = std::max<std::size_t>(measurer.parallelism, 1);
  const std::size_t wanted = std::min(limit, std::max(measurer.batch, at_once));
  std::vector<Candidate> batch = search_->propose(wanted, parts_.next);
  is_exhausted_ = batch.empty();
  const std::size_t busy = std::min(limit, at_once);  // With fewer, some would be idle.
  while (!batch.empty() && batch.size() < busy) {
    std::vector<Candidate> more = search_->propose(busy - batch.size(), parts_.next);
    if (more.empty()) break;
    std::ranges::move(more, std::back_inserter(batch));
  }
  if (measurer.prepare && !batch.empty()) measurer.prepare(batch);
  for (std::size_t begin = 0; begin < batch.size(); begin += at_once) {
    if (times_.count() > 0 && has_time && !has_time()) break;
    const auto first = batch.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::size_t count = std::min(at_once, batch.size() - begin);
    const std::vector<Candidate> group(first, first + static_cast<std::ptrdiff_t>(count));
    std::vector<Outcome> outcomes = measurer.measure(group, result_seconds());
    require(outcomes.size() == group.size(), "runner_answers_all",
            hint("return an outcome for each, in their order"),
            "tune: {}: the runner got {} candidates and returned {} outcomes", func_->name(),
            group.size(), outcomes.size());
    for (std::size_t i = 0; i < group.size(); ++i) take(group[i], std::move(outcomes[i]));
  }
  return times_.count() - before;
}

void Task::take(const Candidate& candidate, Outcome outcome) {
  const double seconds = time_of(outcome);
  const bool is_measured = outcome.failure.empty();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - parts_.begun;
  if (!is_measured && first_failure_.empty()) {
    first_failure_ = failure_text(outcome.failure, outcome.detail);
  }
  if (is_measured) search_->learn(candidate, seconds);
  times_.add(seconds);
  keep(candidate, seconds, is_measured);
  if (is_measured) rank(candidate, seconds);
  if (parts_.on_trial) {
    parts_.on_trial({.trace = candidate.trace,
                     .predicted = candidate.predicted,
                     .seconds = seconds,
                     .failure = std::move(outcome.failure),
                     .detail = std::move(outcome.detail),
                     .elapsed = elapsed.count()});
  }
}

void Task::keep(const Candidate& candidate, double seconds, bool is_measured) {
  if (!parts_.keep) return;
  try {
    parts_.keep({.program = candidate.program,
                 .trace = candidate.trace.as_json(),
                 .seconds = is_measured ? std::optional(seconds) : std::nullopt});
  } catch (const UserError& error) {  // The search is worth more than its record.
    keep_failure_ = error.what();
    parts_.keep = {};
  }
}

void Task::rank(Candidate candidate, double seconds) {
  const auto place =
      std::ranges::upper_bound(quickest_, seconds, {}, [](const auto& each) { return each.first; });
  quickest_.insert(place, {seconds, std::move(candidate)});
  if (quickest_.size() > max_finalists) quickest_.pop_back();
}

double Task::best_seconds() const {
  return quickest_.empty() ? std::numeric_limits<double>::infinity() : quickest_.front().first;
}

TaskState Task::state(double weight) const {
  return {.times = times_,
          .weight = weight,
          .default_seconds = default_seconds_,
          .result_seconds = result_seconds(),
          .expected_gain = search_->expected_gain(result_seconds()),
          .is_exhausted = is_exhausted_};
}

void Task::duel(const Candidate& candidate, std::vector<Dueled>& some) const {
  Outcome outcome = parts_.measurer.duel(candidate);
  if (outcome.failure.empty()) some.emplace_back(std::move(outcome), &candidate);
}

std::vector<Task::Dueled> Task::dueled(std::size_t finalists) const {
  std::vector<Dueled> some, starts;
  for (std::size_t i = 0; i < std::min(finalists, quickest_.size()); ++i) {
    duel(quickest_[i].second, some);
  }
  const auto is_quicker = [](const Dueled& left, const Dueled& right) {
    return speedup_in(left.first) > speedup_in(right.first);
  };
  std::ranges::stable_sort(some, is_quicker);
  if (!some.empty() && speedup_in(some.front().first) >= 1) return some;
  // Nothing found is as quick as what is to be beaten, which may be of the space itself.
  for (const Candidate& start : search_->started()) duel(start, starts);
  starts.insert(starts.end(), std::make_move_iterator(some.begin()),
                std::make_move_iterator(some.end()));
  return starts;
}

Found Task::best(std::size_t finalists) {
  std::string said = first_failure_;
  if (said.empty() && !search_->refused().empty()) {
    said = "refused: " + search_->refused().begin()->first;
  }
  require_candidate(!quickest_.empty(), func_->name(), times_.count(), said);
  const Candidate& quickest = quickest_.front().second;
  if (finalists == 0) return found(quickest, {}, false);
  std::vector<Dueled> duels = dueled(finalists);
  if (duels.empty()) duels.emplace_back(Outcome(), &quickest);
  std::string wrong;
  for (auto& [duel, candidate] : duels) {
    Outcome checked = parts_.measurer.check(*candidate);
    if (checked.failure != wrong_result) {
      return found(*candidate, std::move(duel), checked.failure.empty());
    }
    wrong = std::move(checked.detail);
  }
  fail(ErrorKind::user, "default_schedule_is_right",
       hint("compare what it gives with the default schedule and without: sums of many numbers of "
            "both signs differ by rounding; pass other arguments"),
       {},
       "tune: {}: the program without a schedule gives other results than the default schedule and "
       "the candidates: {}",
       func_->name(), wrong);
}

Found Task::found(const Candidate& candidate, Outcome duel, bool is_checked) const {
  Schedule schedule(func_, 1);
  candidate.trace.apply_to(schedule);
  check(structural_equal(candidate_of(schedule).func, candidate.func), "tune",
        "the trace of the winner of {} gives another program", func_->name());
  const double seconds = duel.samples.empty() ? best_seconds() : median(duel.samples);
  const double other = duel.others.empty() ? default_seconds_ : median(duel.others);
  return {.candidate = candidate,
          .schedule = std::move(schedule),
          .duel = std::move(duel),
          .is_checked = is_checked,
          .seconds = seconds,
          .default_seconds = other};
}

}  // namespace loopsmith::tune
