// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/task.h"

#include <algorithm>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/search/strategies.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t finalists = 3;
constexpr int warm_samples = 20, cold_samples = 6;

}  // namespace

Search search_in(const Space& space, const Ptr<PrimFunc>& func, const Sizes& sizes,
                 std::uint64_t seed, const SearchOptions& options) {
  SearchParts parts;
  Model model = options.model ? Model{.predict = options.model}
                              : model_of(cpu_model_of(options.target, options.build));
  model.learn = options.learn;
  parts.model = with_sizes(std::move(model), sizes);
  if (options.mutator) {
    parts.mutator = [change = options.mutator](const Trace& parent, std::uint64_t seed_of_change) {
      return change(decisions_of(parent), seed_of_change);
    };
  }
  return {func, space, seed, std::move(parts)};
}

Task::Task(Ptr<PrimFunc> func, const Space& space, const SearchOptions& options,
           std::optional<TrialLog> log)
    : func_(std::move(func)),
      options_(options),
      runner_(func_, {}, options),
      search_(search_in(space, func_, sizes_of(*func_, options.arguments), options.seed, options)),
      default_seconds_(median(runner_.measure_reference(0).samples)),
      log_(std::move(log)) {
  if (!log_) return;
  std::vector<Candidate> candidates;
  std::vector<double> times;
  for (auto& [candidate, seconds] : resume(search_, log_->all(), finalists)) {
    candidates.push_back(std::move(candidate));
    times.push_back(seconds);
  }
  const std::vector<Compiled> compiled = runner_.compiled(candidates);
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    if (compiled[i].failure.empty()) keep({compiled[i], times[i]});
  }
}

std::size_t Task::step(std::size_t limit, const HasTime& has_time) {
  const std::size_t before = trials_.size();
  const auto batch = runner_.compiled(search_.propose(limit, candidates_by(options_.strategy)));
  is_exhausted_ = batch.empty();
  for (const Compiled& compiled : batch) {
    if (times_.count() > 0 && !has_time()) break;
    Tried tried{compiled};
    const Outcome outcome = runner_.measure(compiled, 0, quickest_seconds());
    if (outcome.failure.empty()) tried.seconds = median(outcome.samples);
    trials_.push_back({.function = func_->name(),
                       .trace = compiled.candidate.trace.as_json(),
                       .predicted = compiled.candidate.predicted,
                       .seconds = tried.seconds,
                       .failure = outcome.failure});
    times_.add(tried.seconds);
    if (options_.on_trial) options_.on_trial(trials_.back());
    const bool is_measured = outcome.failure.empty();
    if (log_) {
      log({.program = compiled.candidate.program,
           .trace = trials_.back().trace,
           .seconds = is_measured ? std::optional(tried.seconds) : std::nullopt});
    }
    if (!is_measured) continue;
    search_.learn(compiled.candidate, tried.seconds);
    keep(std::move(tried));
  }
  return trials_.size() - before;
}

void Task::log(const LoggedTrial& trial) {
  try {
    log_->add(trial);
  } catch (const UserError& error) {
    log_failure_ = error.what();
    log_.reset();
  }
}

void Task::keep(Tried tried) {
  const auto place = std::ranges::upper_bound(quickest_, tried.seconds, {}, &Tried::seconds);
  quickest_.insert(place, std::move(tried));
  if (quickest_.size() > finalists) quickest_.pop_back();
}

double Task::quickest_seconds() const {
  return quickest_.empty() ? std::numeric_limits<double>::infinity() : quickest_[0].seconds;
}

TaskState Task::state(double weight) const {
  const double result = std::min(quickest_seconds(), default_seconds_);
  return {.times = times_,
          .weight = weight,
          .default_seconds = default_seconds_,
          .result_seconds = result,
          .expected_gain = search_.expected_gain(result),
          .is_exhausted = is_exhausted_};
}

Best Task::best() {
  const Tried* found = nullptr;
  Outcome last;
  double share = std::numeric_limits<double>::infinity();
  for (const Tried& tried : quickest_) {
    Outcome outcome = runner_.duel(tried.compiled, 0, warm_samples, cold_samples);
    const double own = median(outcome.samples) / median(outcome.others);
    if (!outcome.failure.empty() || own >= share) continue;
    found = &tried;
    last = std::move(outcome);
    share = own;
  }
  require(found != nullptr, ErrorKind::schedule, "search_finds_a_schedule",
          hint("ask for more trials, or for another space; trials tell what failed"), {},
          "search: none of {} candidates could be measured{}", trials_.size(),
          !trials_.empty()            ? ": " + trials_.back().failure
          : search_.refused().empty() ? ""
                                      : ": " + search_.refused().begin()->first);
  const std::string wrong = runner_.difference_of_program();
  require(!wrong.starts_with("wrong"), ErrorKind::schedule, "search_keeps_results",
          hint("numbers of both signs differ by rounding; pass other arguments"), {},
          "search: the program as it is written gives other results: {}", wrong);
  Schedule schedule(func_, 1);
  found->compiled.candidate.trace.apply_to(schedule);
  return {.schedule = tir::Schedule(std::make_unique<Schedule>(std::move(schedule))),
          .seconds = median(last.samples),
          .default_seconds = median(last.others),
          .samples = std::move(last.samples),
          .default_samples = std::move(last.others),
          .cold_samples = std::move(last.cold),
          .default_cold_samples = std::move(last.other_cold),
          .trials = std::move(trials_),
          .refused = search_.refused(),
          .is_checked = wrong.empty(),
          .record_failure = std::move(log_failure_)};
}

}  // namespace loopsmith::tune
