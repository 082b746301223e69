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

std::pair<SizeTimes, std::string> SizesTask::times_of(const Compiled& tried) const {
  const SizeTimes least = least_times();
  SizeTimes times;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Outcome outcome = runner_.measure(tried, i, least[i]);
    if (!outcome.failure.empty()) return {{}, outcome.failure};  // It is wrong for all.
    times.push_back(median(outcome.samples));
  }
  return {times, {}};
}

std::size_t SizesTask::step(std::size_t limit, const HasTime& has_time) {
  const std::size_t before = trials_.size(), which = next_++ % searches_.size();
  const auto batch =
      runner_.compiled(searches_[which].propose(limit, candidates_by(options_.strategy)));
  are_exhausted_[which] = batch.empty();
  for (const Compiled& compiled : batch) {
    if (times_.count() > 0 && !has_time()) break;
    auto [times, failure] = times_of(compiled);
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      searches_[i].know(compiled.candidate.program);
      if (failure.empty()) searches_[i].learn(compiled.candidate, times[i]);
    }
    trials_.push_back({.function = func_->name(),
                       .trace = compiled.candidate.trace.as_json(),
                       .predicted = compiled.candidate.predicted,
                       .failure = failure});
    if (failure.empty()) trials_.back().seconds = mean(times);
    times_.add(trials_.back().seconds);
    if (options_.on_trial) options_.on_trial(trials_.back());
    if (failure.empty()) found_.push_back({compiled, std::move(times)});
  }
  return trials_.size() - before;
}

TaskState SizesTask::state(double weight) const {
  const SizeTimes least = least_times();
  double gain = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    gain = std::max(gain, searches_[i].expected_gain(least[i]));
  }
  return {.times = times_,
          .weight = weight,
          .default_seconds = mean(default_times_),
          .result_seconds = mean(least),
          .expected_gain = gain,
          .is_exhausted = std::ranges::all_of(are_exhausted_, std::identity())};
}

BestSizes SizesTask::best() {
  require(!found_.empty(), ErrorKind::schedule, "search_finds_a_schedule",
          hint("ask for more trials, or for another space; trials tell what failed"), {},
          "search: none of {} candidates could be measured{}", trials_.size(),
          trials_.empty() ? "" : ": " + trials_.back().failure);
  std::vector<SizeTimes> found;
  for (const Measured& each : found_) found.push_back(each.seconds);
  const auto count = static_cast<std::size_t>(options_.variants);
  BestSizes best{.func = func_, .reference = runner_.reference()};
  std::vector<SizeTimes> variants;
  std::vector<std::vector<double>> defaults(points_.size());
  for (const std::size_t which : chosen_variants(points_, default_times_, found, count)) {
    SizeTimes ratios;  // What the machine did meanwhile met both.
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Outcome outcome = runner_.duel(found_[which].compiled, i, samples, 0);
      if (!outcome.failure.empty()) break;
      defaults[i].push_back(median(outcome.others));
      ratios.push_back(median(outcome.samples) / median(outcome.others));
    }
    if (ratios.size() < points_.size()) continue;
    variants.push_back(std::move(ratios));
    Schedule schedule(func_, 1);
    found_[which].compiled.candidate.trace.apply_to(schedule);
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
  const std::string wrong = best.is_default() ? "" : runner_.difference_of(best.function());
  require(wrong.empty(), ErrorKind::schedule, "search_keeps_results",
          hint("report this, with the program"), {},
          "search: the function of {} variants fails: {}", best.schedules.size(), wrong);
  const std::string program = runner_.difference_of_program();
  require(!program.starts_with("wrong"), ErrorKind::schedule, "search_keeps_results",
          hint("numbers of both signs differ by rounding; pass other arguments"), {},
          "search: the program as it is written gives other results: {}", program);
  best.is_checked = program.empty();
  return best;
}

}  // namespace loopsmith::tune
