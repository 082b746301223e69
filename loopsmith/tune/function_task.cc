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

FunctionParts::FunctionParts(const Ptr<PrimFunc>& func, const std::vector<DrawnSizes>& points,
                             const SearchOptions& options)
    : func_(func),
      points_(points),
      options_(options),
      runner_(std::make_unique<CandidateRunner>(func, points, options)) {}

TaskParts FunctionParts::parts(const Space& space, const LogOf& log, int warm, int cold) const {
  TaskParts made{.measurer = measurer_of(*runner_, warm, cold), .searches = {}};
  made.on_trial = [name = func_->name(), trials = trials_,
                   tell = options_.on_trial](const Tried& tried) {
    trials->push_back({.function = name,
                       .trace = tried.trace.as_json(),
                       .predicted = tried.predicted,
                       .seconds = tried.seconds,
                       .failure = tried.failure,
                       .detail = tried.detail,
                       .elapsed = tried.elapsed});
    if (tell) tell(trials->back());
  };
  std::vector<Sizes> kept;
  const std::vector<DrawnSizes> only(1);
  for (const DrawnSizes& point : points_.empty() ? only : points_) {
    const Sizes sizes = points_.empty() ? sizes_of(*func_, options_.arguments) : point.sizes;
    const std::uint64_t seed = options_.seed + made.searches.size();
    SizedSearch& own = made.searches.emplace_back();
    own.search = search_in(space, func_, sizes, seed, options_);
    own.next = candidates_by(options_.strategy);
    own.point = point;
    kept.push_back(sizes);
  }
  if (auto trials = log(kept)) {
    made.earlier = trials->all();
    made.keep = [own = *std::move(trials)](const std::vector<LoggedTrial>& some) { own.add(some); };
  }
  return made;
}

FunctionProgress FunctionParts::progress(const Exploration& task) const {
  return {.name = func_->name(),
          .best_seconds = task.best_seconds(),
          .default_seconds = task.default_seconds()};
}

FunctionTask::FunctionTask(const Ptr<PrimFunc>& func, const Space& space,
                           const SearchOptions& options, const LogOf& log)
    : parts_(func, {}, options), task_(func, parts_.parts(space, log, 20, 6)) {}

Best FunctionTask::best() {
  Found found = task_.best();
  return {.schedule = tir::Schedule(std::make_unique<Schedule>(std::move(found.schedule))),
          .seconds = found.seconds,
          .default_seconds = found.default_seconds,
          .samples = std::move(found.duel.samples),
          .default_samples = std::move(found.duel.others),
          .cold_samples = std::move(found.duel.cold),
          .default_cold_samples = std::move(found.duel.other_cold),
          .trials = std::move(parts_.trials()),
          .refused = task_.refused(),
          .is_checked = found.is_checked,
          .record_failure = task_.keep_failure()};
}

FunctionSizesTask::FunctionSizesTask(const Ptr<PrimFunc>& func,
                                     const std::vector<DrawnSizes>& points, const Space& space,
                                     const SearchOptions& options, const LogOf& log)
    : func_(func),
      parts_(func, points, options),
      task_(func, parts_.runner().reference(), static_cast<std::size_t>(options.variants),
            parts_.parts(space, log, 10, 0)) {}

BestSizes FunctionSizesTask::best() {
  FoundSizes found = task_.best();
  BestSizes best{.func = func_,
                 .reference = parts_.runner().reference(),
                 .schedules = {},
                 .tree = std::move(found.decision.tree),
                 .rows = std::move(found.decision.rows),
                 .trials = std::move(parts_.trials()),
                 .is_checked = found.is_checked,
                 .record_failure = task_.keep_failure()};
  for (Schedule& schedule : found.schedules) {
    best.schedules.emplace_back(std::make_unique<Schedule>(std::move(schedule)));
  }
  return best;
}

}  // namespace loopsmith::tune
