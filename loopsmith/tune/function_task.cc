// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/function_task.h"

#include <utility>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/search/strategies.h"

namespace loopsmith::tune {

std::shared_ptr<Search> search_in(const Space& space, const Ptr<PrimFunc>& func, const Sizes& sizes,
                                  std::uint64_t seed, const SearchOptions& options) {
  SearchParts parts;
  Model model;  // Of a device, there is none.
  if (options.model) {
    model.predict = options.model;
  } else if (!options.target.is_gpu()) {
    model = model_of(cpu_model_of(options.target, options.build));
  }
  model.learn = options.learn;
  parts.model = with_sizes(std::move(model), sizes);
  if (options.mutator) {
    parts.mutator = [change = options.mutator](const Trace& parent, std::uint64_t seed_of_change) {
      return change(decisions_of(parent), seed_of_change);
    };
  }
  return std::make_shared<Search>(func, space, seed, std::move(parts));
}

FunctionTask::FunctionTask(const Ptr<PrimFunc>& func, const Space& space,
                           const SearchOptions& options, std::optional<TrialLog> log)
    : name_(func->name()),
      runner_(std::make_unique<CandidateRunner>(func, std::vector<DrawnSizes>(), options)),
      task_(func, search_in(space, func, sizes_of(*func, options.arguments), options.seed, options),
            parts(options, std::move(log))) {}

TaskParts FunctionTask::parts(const SearchOptions& options, std::optional<TrialLog> log) const {
  TaskParts made{.measurer = measurer_of(*runner_), .next = candidates_by(options.strategy)};
  made.on_trial = [name = name_, trials = trials_, tell = options.on_trial](const Tried& tried) {
    trials->push_back({.function = name,
                       .trace = tried.trace.as_json(),
                       .predicted = tried.predicted,
                       .seconds = tried.seconds,
                       .failure = tried.failure,
                       .detail = tried.detail,
                       .elapsed = tried.elapsed});
    if (tell) tell(trials->back());
  };
  if (log) {
    made.earlier = log->all();
    made.keep = [log = *std::move(log)](const LoggedTrial& trial) { log.add(trial); };
  }
  return made;
}

FunctionProgress FunctionTask::progress() const {
  return {.name = name_,
          .best_seconds = task_.best_seconds(),
          .default_seconds = task_.default_seconds()};
}

Best FunctionTask::best() {
  Found found = task_.best();
  return {.schedule = tir::Schedule(std::make_unique<Schedule>(std::move(found.schedule))),
          .seconds = found.seconds,
          .default_seconds = found.default_seconds,
          .samples = std::move(found.duel.samples),
          .default_samples = std::move(found.duel.others),
          .cold_samples = std::move(found.duel.cold),
          .default_cold_samples = std::move(found.duel.other_cold),
          .trials = std::move(*trials_),
          .refused = task_.search().refused(),
          .is_checked = found.is_checked,
          .record_failure = task_.keep_failure()};
}

}  // namespace loopsmith::tune
