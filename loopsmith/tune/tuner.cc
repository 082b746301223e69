// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/tuner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/to_tir.h"
#include "loopsmith/tune/function_task.h"
#include "loopsmith/tune/interrupt.h"
#include "loopsmith/tune/records/records.h"
#include "loopsmith/tune/search/limits.h"
#include "loopsmith/tune/spaces/own_space.h"

namespace loopsmith::tune {
namespace {

/// Gives the user's steps a schedule as users know it.
template <class Steps>
auto with_face(Schedule& schedule, Steps&& steps) {
  tir::Schedule face(std::make_unique<Schedule>(std::move(schedule)));
  struct GiveBack {
    ~GiveBack() { to = std::move(from.engine()); }
    tir::Schedule& from;
    Schedule& to;
  } const give_back{face, schedule};
  return steps(face);
}

/// The space of the user's, on the engine.
Space space_of(const SearchOptions& options) {
  Space space{.name = options.space_name};
  space.steps = [steps = options.space](Schedule& schedule) { with_face(schedule, steps); };
  return space;
}

/// The rules of the user's, on the engine.
std::vector<BlockRule> rules_of(const SearchOptions& options) {
  std::vector<BlockRule> rules;
  for (const Rule& rule : options.rules) {
    rules.push_back({rule.name, [apply = rule.apply](Schedule& schedule, BlockRV block) {
                       return with_face(schedule,
                                        [&](tir::Schedule& face) { return apply(face, block); });
                     }});
  }
  return rules;
}

/// Rules are for the generated space.
void require_no_rules(const SearchOptions& options) {
  require(options.rules.empty(), "rules_are_of_the_generated_space",
          hint("take the steps of the rules in the space"),
          "tune: rules are given, and a space of your own");
}

/// What is searched of a function without steps.
Space space_for(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  if (options.space) require_no_rules(options);
  Space space = options.space ? space_of(options)
                              : own_space(func, options.target, options.build, options.numerics,
                                          rules_of(options));
  return locked(std::move(space), options.numerics);
}

/// Refuses options that have no meaning.
void require_options(const SearchOptions& options) {
  require(options.regret == 0 || options.model || !options.target.is_gpu(), "regret_has_a_model",
          hint("use patience, or pass a model"),
          "tune: regret is given, and there is no model that predicts times on this target");
  require_limits({.trials = options.trials,
                  .seconds = options.seconds,
                  .trial_seconds = options.trial_seconds,
                  .trial_bytes = options.trial_bytes,
                  .patience = options.patience,
                  .regret = options.regret,
                  .variants = options.variants});
}

void require_no_arguments(const SearchOptions& options, std::string_view what) {
  require(options.arguments.empty(), "arguments_are_random",
          hint("leave out `arguments`: they are drawn"), "search: arguments are given, and {}",
          what);
}

/// How far tasks are.
template <class AnyTask>
SearchProgress progress_of(const std::vector<AnyTask>& tasks, double elapsed,
                           const SearchOptions& options) {
  SearchProgress progress{.trials = static_cast<std::size_t>(options.trials),
                          .elapsed = elapsed,
                          .seconds_left = options.seconds - elapsed};
  for (const AnyTask& task : tasks) {
    progress.functions.push_back(task.progress());
    progress.done += task.trials().size();
    for (const Trial& trial : task.trials()) {
      if (!trial.failure.empty()) ++progress.failures[trial.failure];
    }
  }
  return progress;
}

/// Takes steps of tasks until the trials or the time are used up, or nothing is left; true where
/// Ctrl-C ended it.
template <class AnyTask>
bool run(std::vector<AnyTask>& tasks, const std::vector<double>& weights,
         const SearchOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const InterruptWatch interrupt(options.ends_at_interrupt);
  const HasTime has_time = [&] { return elapsed() < options.seconds && !interrupt.has_come(); };
  ProgressLines lines;
  const auto wanted = static_cast<std::size_t>(options.trials);
  for (std::size_t done = 0; done < wanted;) {
    std::vector<TaskState> states;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      states.push_back(tasks[i].exploration().state(weights[i]));
    }
    const auto next = next_task(states, options.patience, options.regret);
    if (!next || interrupt.has_come()) break;
    const bool has_trials = states[*next].times.count() > 0;  // Each task has one at least.
    if (has_trials && !has_time()) break;
    done += tasks[*next].exploration().step(std::min(Search::batch_size, wanted - done), has_time);
    if (options.progress) lines.update(progress_of(tasks, elapsed(), options));
  }
  return interrupt.has_come();
}

/// Does what writes a record; says why it could not: a result is worth more than its record.
template <class Write>
std::string failure_of(Write&& write) {
  try {
    write();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

/// The records that the options name, if they do.
std::optional<Records> records_of(const SearchOptions& options) {
  if (options.records.empty()) return {};
  return Records(options.records);
}

/// What records of a search are of.
std::string target_key_of(const SearchOptions& options) {
  return target_key(options.target, options.build, options.numerics);
}

/// What a search for a function keeps: it goes on with the trials of those in the same space.
LogOf log_of(const Ptr<PrimFunc>& func, const Space& space, const std::optional<Records>& records,
             const SearchOptions& options) {
  return [=, key = target_key_of(options)](
             const std::vector<Sizes>& sizes) -> std::optional<TrialLog> {
    if (!records || space.name.empty()) return {};
    std::vector<std::string> searches;
    for (const Sizes& each : sizes) searches.push_back(search_key(func, key, space.name, each));
    return TrialLog(*records, std::move(searches));
  };
}

void record(const Ptr<PrimFunc>& func, Best& best, const std::optional<Records>& records,
            const SearchOptions& options) {
  if (!records || !best.is_quicker()) return;
  std::string failure = failure_of([&] {
    Record made = record_of(func, best.schedule, target_key_of(options));
    made.seconds = best.seconds;
    made.default_seconds = best.default_seconds;
    made.check = check_text(best.is_checked);
    records->add(made);
  });
  if (!failure.empty()) best.record_failure = std::move(failure);
}

Best search_in_space(const Ptr<PrimFunc>& func, const Space& space, const SearchOptions& options) {
  const auto records = records_of(options);
  std::vector<FunctionTask> tasks;
  tasks.emplace_back(func, space, options, log_of(func, space, records, options));
  const bool was_interrupted = run(tasks, {1.0}, options);
  Best best = tasks.front().best();
  best.was_interrupted = was_interrupted;
  record(func, best, records, options);
  return best;
}

/// The search in what a schedule left open.
Best search_of(const Schedule& schedule, const SearchOptions& options) {
  require_no_rules(options);
  const Space space = after(schedule.trace(), options.space ? space_of(options) : Space());
  return search_in_space(Schedule(schedule.original(), 1).func(), locked(space, options.numerics),
                         options);
}

}  // namespace

Best search(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  require_options(options);
  return search_in_space(func, space_for(func, options), options);
}

Best search(const tir::Schedule& schedule, const SearchOptions& options) {
  require_options(options);
  return search_of(schedule.engine(), options);
}

Best search(const te::Schedule& schedule, const std::vector<Ref>& args,
            const SearchOptions& options) {
  require_options(options);
  return search_of(te::to_tir(schedule, args), options);
}

BestSizes search_sizes(const Ptr<PrimFunc>& func, const std::map<std::string, SizeSpec>& sizes,
                       const SearchOptions& options) {
  require_options(options);
  require_no_arguments(options, "ranges of sizes");
  const auto records = records_of(options);
  const Space space = space_for(func, options);
  std::vector<FunctionSizesTask> tasks;
  tasks.emplace_back(func, drawn_sizes(*func, sizes, options.seed), space, options,
                     log_of(func, space, records, options));
  const bool was_interrupted = run(tasks, {1.0}, options);
  BestSizes best = tasks.front().best();
  best.was_interrupted = was_interrupted;
  if (!records || best.is_default()) return best;
  std::string failure = failure_of([&] { records->add(record_of(best, target_key_of(options))); });
  if (!failure.empty()) best.record_failure = std::move(failure);
  return best;
}

BestModule search_module(const Ptr<IRModule>& module, const std::map<std::string, double>& weights,
                         const SearchOptions& options) {
  require_options(options);
  require_no_arguments(options, "a module");
  require(!module->functions.empty(), "module_has_functions", hint("add a function to the module"),
          "search: the module has no functions");
  std::vector<std::string> names;
  for (const auto& name : module->names) names.push_back(name->name_hint);
  for (const auto& [name, weight] : weights) {
    require(std::ranges::count(names, name) > 0 && std::isfinite(weight) && weight >= 0,
            "weights_fit_functions",
            hint("give functions of the module a number of calls, 0 or more"),
            "search: the weight of {} is {}; the functions are {}", name, weight,
            fmt::join(names, ", "));
  }
  const auto records = records_of(options);
  std::vector<FunctionTask> tasks;
  std::vector<Ptr<PrimFunc>> functions;
  std::vector<double> calls;
  for (std::size_t i = 0; i < names.size(); ++i) {
    functions.push_back(with_attr(module->functions[i], "global_symbol", string_imm(names[i])));
    const Space space = space_for(functions[i], options);
    tasks.emplace_back(functions[i], space, options, log_of(functions[i], space, records, options));
    const auto weight = weights.find(names[i]);
    calls.push_back(weight == weights.end() ? 1.0 : weight->second);
  }
  const bool was_interrupted = run(tasks, calls, options);
  BestModule best{.module = module, .functions = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      Best found = tasks[i].best();
      found.was_interrupted = was_interrupted;
      record(functions[i], found, records, options);
      best.functions.emplace(names[i], std::move(found));
    } catch (const UserError& error) {  // Of the others, nothing is lost.
      best.failures.emplace(names[i], error.what());
      if (best.failures.size() == names.size()) throw;
    }
  }
  return best;
}

}  // namespace loopsmith::tune
