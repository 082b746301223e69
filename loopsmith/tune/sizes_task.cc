// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes_task.h"

#include <algorithm>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/search/strategies.h"

namespace loopsmith::tune {
namespace {

constexpr int samples = 10;  ///< Beside the default schedule, of each variant and size.

}  // namespace

SizesTask::SizesTask(Ptr<PrimFunc> func, std::vector<DrawnSizes> points, const Space& space,
                     const SearchOptions& options)
    : func_(std::move(func)),
      options_(options),
      points_(std::move(points)),
      runner_(func_, points_, options),
      are_exhausted_(points_.size()) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    searches_.push_back(search_in(space, func_, points_[i].sizes, options.seed + i, options));
    default_times_.push_back(median(runner_.measure_reference(i).samples));
  }
}

double SizesTask::mean(const SizeTimes& times) const {
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) sum += points_[i].weight * times[i];
  return sum;
}

SizeTimes SizesTask::least_times() const {
  SizeTimes least = default_times_;
  for (const Measured& each : found_) least = quicker(least, each.seconds);
  return least;
}

std::pair<SizeTimes, Outcome> SizesTask::times_of(const Compiled& tried) const {
  const SizeTimes least = least_times();
  SizeTimes times;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    Outcome outcome = runner_.measure(tried, i, least[i]);
    times.push_back(time_of(outcome));
    if (!outcome.failure.empty()) return {{}, std::move(outcome)};  // It is wrong for all.
  }
  return {times, {}};
}

std::size_t SizesTask::step(std::size_t limit, const HasTime& has_time) {
  const std::size_t before = trials_.size(), which = next_++ % searches_.size();
  const auto batch =
      runner_.compiled(searches_[which]->propose(limit, candidates_by(options_.strategy)));
  are_exhausted_[which] = batch.empty();
  for (const Compiled& compiled : batch) {
    if (times_.count() > 0 && !has_time()) break;
    auto [times, outcome] = times_of(compiled);
    const bool is_measured = outcome.failure.empty();
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      searches_[i]->know(compiled.candidate.program);
      if (is_measured) searches_[i]->learn(compiled.candidate, times[i]);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun_;
    trials_.push_back({.function = func_->name(),
                       .trace = compiled.candidate.trace.as_json(),
                       .predicted = compiled.candidate.predicted,
                       .failure = std::move(outcome.failure),
                       .detail = std::move(outcome.detail),
                       .elapsed = elapsed.count()});
    if (is_measured) trials_.back().seconds = mean(times);
    times_.add(trials_.back().seconds);
    if (options_.on_trial) options_.on_trial(trials_.back());
    if (is_measured) found_.push_back({compiled.candidate, std::move(times)});
  }
  return trials_.size() - before;
}

TaskState SizesTask::state(double weight) const {
  const SizeTimes least = least_times();
  double gain = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    gain = std::max(gain, searches_[i]->expected_gain(least[i]));
  }
  return {.times = times_,
          .weight = weight,
          .default_seconds = mean(default_times_),
          .result_seconds = mean(least),
          .expected_gain = gain,
          .is_exhausted = std::ranges::all_of(are_exhausted_, std::identity())};
}

FunctionProgress SizesTask::progress() const {
  return {.name = func_->name(),
          .best_seconds = mean(least_times()),
          .default_seconds = mean(default_times_)};
}

BestSizes SizesTask::best() {
  require_candidate(
      !found_.empty(), func_->name(), trials_.size(),
      trials_.empty() ? "" : failure_text(trials_.front().failure, trials_.front().detail));
  std::vector<SizeTimes> found;
  for (const Measured& each : found_) found.push_back(each.seconds);
  const auto count = static_cast<std::size_t>(options_.variants);
  BestSizes best{.func = func_, .reference = runner_.reference()};
  std::vector<SizeTimes> variants;
  std::vector<std::vector<double>> defaults(points_.size());
  for (const std::size_t which : chosen_variants(points_, default_times_, found, count)) {
    SizeTimes ratios;  // What the machine did meanwhile met both.
    const Compiled compiled = runner_.compiled({found_[which].candidate}).front();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Outcome outcome = runner_.duel(compiled, i, samples, 0);
      if (!outcome.failure.empty()) break;
      defaults[i].push_back(median(outcome.others));
      ratios.push_back(median(outcome.samples) / median(outcome.others));
    }
    if (ratios.size() < points_.size()) continue;
    variants.push_back(std::move(ratios));
    Schedule schedule(func_, 1);
    compiled.candidate.trace.apply_to(schedule);
    best.schedules.emplace_back(std::make_unique<Schedule>(std::move(schedule)));
  }
  SizeTimes common = default_times_;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!defaults[i].empty()) common[i] = median(defaults[i]);
    for (SizeTimes& ratios : variants) ratios[i] *= common[i];
  }
  SizeDecision made = decided(points_, common, variants, least_times());
  best.tree = std::move(made.tree);
  best.rows = std::move(made.rows);
  best.trials = std::move(trials_);
  const Outcome checked = runner_.check(best.function());
  const bool is_open = checked.failure == timeout || checked.failure == not_compared;
  require(is_open || checked.failure.empty(), "variants_are_right",
          hint("compare what it gives with the default schedule and without: sums of many numbers "
               "of both signs differ by rounding; pass other arguments"),
          "tune: {}: the function of {} variants: {}", func_->name(), best.schedules.size(),
          failure_text(checked.failure, checked.detail));
  best.is_checked = checked.failure.empty();
  return best;
}

}  // namespace loopsmith::tune
