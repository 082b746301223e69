// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/exploration.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "loopsmith/support/error.h"
#include "loopsmith/tune/measure/measurement.h"

namespace loopsmith::tune {
namespace {

constexpr double not_measured = std::numeric_limits<double>::infinity();

/// Whether a candidate failed with one size, which may be the only one with which it does.
bool is_of_size(const Outcome& outcome) {
  return outcome.failure != compile_error && outcome.failure != compile_timeout;
}

}  // namespace

Exploration::Exploration(Ptr<PrimFunc> func, TaskParts parts, std::size_t max_found)
    : func_(std::move(func)),
      parts_(std::move(parts)),
      max_found_(max_found),
      best_times_(parts_.searches.size(), not_measured),
      are_exhausted_(parts_.searches.size()) {
  std::vector<Search*> searches;
  for (std::size_t i = 0; i < parts_.searches.size(); ++i) {
    const SizedSearch& own = parts_.searches[i];
    Outcome outcome = parts_.measurer.measure_reference(i);
    default_times_.push_back(time_of(outcome));
    require(own.point.sizes.empty() || outcome.failure.empty(), "default_schedule_runs",
            hint("leave out sizes with which it does not run, or give it more time"),
            "tune: {}: the default schedule fails with {}: {}", func_->name(),
            sizes_text(own.point.sizes), failure_text(outcome.failure, outcome.detail));
    if (i == 0) reference_ = std::move(outcome);
    searches.push_back(own.search.get());
  }
  auto earlier = std::exchange(parts_.earlier, {});
  earlier.resize(searches.size());
  for (Timed& each : resume(searches, earlier, max_found_)) rank(std::move(each));
}

std::vector<Candidate> Exploration::proposed(const SizedSearch& from, std::size_t limit) {
  const Measurer& measurer = parts_.measurer;
  const std::size_t at_once = std::max<std::size_t>(measurer.parallelism, 1);
  const std::size_t wanted = std::min(limit, std::max(measurer.batch, at_once));
  std::vector<Candidate> batch = from.search->propose(wanted, from.next);
  const std::size_t busy = std::min(limit, at_once);  // With fewer, some would be idle.
  while (!batch.empty() && batch.size() < busy) {
    std::vector<Candidate> more = from.search->propose(busy - batch.size(), from.next);
    if (more.empty()) break;
    std::ranges::move(more, std::back_inserter(batch));
  }
  return batch;
}

std::size_t Exploration::step(std::size_t limit, const HasTime& has_time) {
  const std::size_t before = times_.count(), which = next_++ % parts_.searches.size();
  const std::vector<Candidate> batch = proposed(parts_.searches[which], limit);
  are_exhausted_[which] = batch.empty();
  const Measurer& measurer = parts_.measurer;
  const std::size_t at_once = std::max<std::size_t>(measurer.parallelism, 1);
  if (measurer.prepare && !batch.empty()) measurer.prepare(batch);
  for (std::size_t begin = 0; begin < batch.size(); begin += at_once) {
    if (times_.count() > 0 && has_time && !has_time()) break;
    const auto first = batch.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::size_t count = std::min(at_once, batch.size() - begin);
    measure({first, first + static_cast<std::ptrdiff_t>(count)});
  }
  return times_.count() - before;
}

void Exploration::measure(const std::vector<Candidate>& group) {
  const SizeTimes least = least_times();
  std::vector<SizeTimes> times(group.size());
  std::vector<Outcome> last(group.size());
  for (std::size_t point = 0; point < parts_.searches.size(); ++point) {
    std::vector<std::size_t> left;
    std::vector<Candidate> some;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!last[i].failure.empty()) continue;  // It is wrong for all.
      left.push_back(i);
      some.push_back(group[i]);
    }
    if (some.empty()) break;
    std::vector<Outcome> outcomes = parts_.measurer.measure(some, point, least[point]);
    require(outcomes.size() == some.size(), "runner_answers_all",
            hint("return an outcome for each, in their order"),
            "tune: {}: the runner got {} candidates and returned {} outcomes", func_->name(),
            some.size(), outcomes.size());
    const Sizes& sizes = parts_.searches[point].point.sizes;
    for (std::size_t i = 0; i < left.size(); ++i) {
      Outcome& own = last[left[i]] = std::move(outcomes[i]);
      times[left[i]].push_back(time_of(own));
      if (own.failure.empty() || sizes.empty() || !is_of_size(own)) continue;
      own.detail = failure_text("with " + sizes_text(sizes), own.detail);
    }
  }
  for (std::size_t i = 0; i < group.size(); ++i) take(group[i], times[i], std::move(last[i]));
}

void Exploration::take(const Candidate& candidate, const SizeTimes& times, Outcome last) {
  const bool is_measured = last.failure.empty();
  const double seconds = is_measured ? mean(times) : not_measured;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - parts_.begun;
  if (!is_measured && first_failure_.empty()) {
    first_failure_ = failure_text(last.failure, last.detail);
  }
  for (std::size_t i = 0; i < parts_.searches.size(); ++i) {
    Search& search = *parts_.searches[i].search;
    search.know(candidate.program);
    if (is_measured) search.learn(candidate, times[i]);
  }
  times_.add(seconds);
  keep(candidate, times, is_measured);
  if (is_measured) rank({candidate, times});
  if (parts_.on_trial) {
    parts_.on_trial({.trace = candidate.trace,
                     .predicted = candidate.predicted,
                     .seconds = seconds,
                     .failure = std::move(last.failure),
                     .detail = std::move(last.detail),
                     .elapsed = elapsed.count()});
  }
}

void Exploration::keep(const Candidate& candidate, const SizeTimes& times, bool is_measured) {
  if (!parts_.keep) return;
  std::vector<LoggedTrial> trials;
  for (const double seconds : times) {
    trials.push_back({candidate.program, candidate.trace.as_json(), seconds});
  }
  if (!is_measured) trials.back().seconds.reset();
  try {
    parts_.keep(trials);
  } catch (const UserError& error) {  // The search is worth more than its record.
    keep_failure_ = error.what();
    parts_.keep = {};
  }
}

void Exploration::rank(Timed each) {
  best_times_ = quicker(best_times_, each.second);
  const auto mean_of = [this](const Timed& one) { return mean(one.second); };
  const auto place = std::ranges::upper_bound(found_, mean_of(each), {}, mean_of);
  found_.insert(place, std::move(each));
  if (found_.size() > max_found_) found_.pop_back();
}

double Exploration::mean(const SizeTimes& times) const {
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) sum += parts_.searches[i].point.weight * times[i];
  return sum;
}

bool Exploration::is_exhausted() const {
  return std::ranges::all_of(are_exhausted_, std::identity());
}

TaskState Exploration::state(double weight) const {
  const SizeTimes least = least_times();
  double gain = 0;
  for (std::size_t i = 0; i < parts_.searches.size(); ++i) {
    gain = std::max(gain, parts_.searches[i].search->expected_gain(least[i]));
  }
  return {.times = times_,
          .weight = weight,
          .default_seconds = default_seconds(),
          .result_seconds = mean(least),
          .expected_gain = gain,
          .is_exhausted = is_exhausted()};
}

std::map<std::string, int> Exploration::refused() const {
  std::map<std::string, int> counts;
  for (const SizedSearch& each : parts_.searches) {
    for (const auto& [what, count] : each.search->refused()) counts[what] += count;
  }
  return counts;
}

void Exploration::require_found() const {
  std::string said = first_failure_;
  if (const auto all = refused(); said.empty() && !all.empty()) {
    said = "refused: " + all.begin()->first;
  }
  require(!found_.empty(), "a_candidate_works",
          hint("give more trials or seconds, or another space"),
          "tune: {}: none of {} candidates could be built and measured; {}", func_->name(),
          times_.count(), said.empty() ? "there was no time for one" : said);
}

}  // namespace loopsmith::tune
