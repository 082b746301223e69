// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measurement.h"
#include "loopsmith/tune/records.h"
#include "loopsmith/tune/search.h"
#include "loopsmith/tune/spaces/fixed_order.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t batch_size = 8;
constexpr std::size_t finalists = 3;
constexpr int duel_samples = 20;
constexpr double check_factor = 10;  ///< How much longer the program as it is written may take.

/// A space, and what is tried of it first.
struct StartedSpace {
  Space space;
  bool is_concurrent = false;  ///< Threads may draw at once.
  std::vector<Decisions> starts = {};
};

/// The space of a program for which none is given; it starts with the default schedule, which no
/// lock of numerics leaves as it is.
StartedSpace own_space(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  if (options.numerics != Numerics::free) return {generated_space, true};
  tir::Schedule by_default = tir::default_schedule(func, options.target, true, options.build);
  Trace trace = by_default.engine().trace();
  Decisions decisions = decisions_of(trace);
  decisions.insert(decisions.begin(), {"sample_categorical", Argument(std::int64_t{0})});
  return {either(std::move(trace), generated_space), true, {std::move(decisions)}};
}

/// A space of the user's, on the engine.
StartedSpace space_of(const std::function<void(tir::Schedule&)>& steps) {
  return {[steps](Schedule& schedule) {
    tir::Schedule face(std::make_unique<Schedule>(std::move(schedule)));
    steps(face);
    schedule = std::move(face.engine());
  }};
}

/// A space whose steps keep results to the bit, as a lock asks for.
Space locked(Space space, Numerics numerics) {
  if (numerics == Numerics::free) return space;
  return [space = std::move(space), numerics](Schedule& schedule) {
    if (numerics == Numerics::reproducible) fix_order(schedule);
    schedule.allow_reassociation(false);
    space(schedule);
  };
}

Ptr<PrimFunc> as_scheduled(const Ptr<PrimFunc>& func) {
  return with_attr(func, "tir.is_scheduled", Expr(1));
}

/// What candidates are compared with, and have to beat.
Ptr<PrimFunc> reference_of(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  if (options.numerics == Numerics::free) {
    return schedule_by_rule(func, options.target, options.build);
  }
  Schedule schedule(func, 1);
  if (options.numerics == Numerics::reproducible) fix_order(schedule);
  return as_scheduled(schedule.func());
}

void require_processor(const Target& target) {
  require(
      !target.is_gpu(), ErrorKind::schedule, "search_is_for_processors",
      hint("search from Python: ls.tune(func, target=...)"), {},
      "search: target {} is a device, and what runs on it cannot be measured in a child process "
      "that shares this one's memory",
      target.text());
}

/// The symbolic sizes that arguments have.
Substitution sizes_of(const PrimFunc& func, const std::vector<NDArray>& arguments) {
  Substitution sizes;
  for (std::size_t k = 0; k < std::min(func.params.size(), arguments.size()); ++k) {
    const Ptr<Buffer>& buffer = func.buffer_map[k];
    if (!buffer || buffer->shape.size() != arguments[k].shape().size()) continue;
    for (std::size_t axis = 0; axis < buffer->shape.size(); ++axis) {
      const Expr& size = buffer->shape[axis];
      if (size.is<Var>()) sizes.emplace(size, int_imm(size.dtype(), arguments[k].shape()[axis]));
    }
  }
  return sizes;
}

class Tuner {
 public:
  Tuner(const Ptr<PrimFunc>& func, const StartedSpace& space, const SearchOptions& options)
      : func_(func),
        options_(options),
        limits_{.seconds = options.trial_seconds, .bytes = options.trial_bytes},
        reference_(reference_of(func, options)),
        by_default_(compile(reference_)),
        search_(func, locked(space.space, options.numerics), options.seed,
                space.is_concurrent && !options.model, parts_of(space)) {
    if (options.runner) return;
    workload_.emplace(
        options.arguments.empty() ? random_arguments(*func, options.seed) : options.arguments,
        by_default_, options.numerics != Numerics::free);
  }

  Best run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto has_time = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
             options_.seconds;
    };
    const auto wanted = static_cast<std::size_t>(std::max(options_.trials, 0));
    while (trials_.size() < wanted && has_time() && in_vain_ < options_.patience) {
      const auto batch = search_.next_batch(std::min(batch_size, wanted - trials_.size()));
      if (batch.empty()) break;
      try_batch(batch, has_time);
    }
    return best();
  }

 private:
  struct Tried {
    Candidate candidate;
    std::optional<Module> module;
    double seconds = std::numeric_limits<double>::infinity();
  };

  SearchParts parts_of(const StartedSpace& space) const {
    const Model model = options_.model ? options_.model
                                       : model_of(cpu_model_of(options_.target, options_.build),
                                                  sizes_of(*func_, options_.arguments));
    return {.model = model, .mutator = options_.mutator, .starts = space.starts};
  }

  Module compile(const Ptr<PrimFunc>& func) const {
    return build(as_scheduled(func), options_.target, options_.build);
  }

  /// What the runner says of a scheduled function.
  Outcome run(const Ptr<PrimFunc>& func) const {
    Outcome outcome;
    try {
      outcome.samples = options_.runner(func);
    } catch (const UserError& error) {
      outcome.failure = error.what();
    }
    const double seconds = median(outcome.samples);
    if (outcome.failure.empty() && !(std::isfinite(seconds) && seconds > 0)) {
      outcome.failure = "the runner gave no time: it returns seconds, more than 0";
    }
    return outcome;
  }

  Outcome measure(const Tried& tried) const {
    if (options_.runner) return run(tried.candidate.func);
    return workload_->measure(*tried.module, quickest_seconds(), limits_);
  }

  /// Measures a candidate beside what it has to beat.
  Outcome duel(const Tried& tried) const {
    if (!options_.runner) {
      ChildLimits limits = limits_;
      limits.seconds *= duel_samples;
      return workload_->duel(*tried.module, by_default_, duel_samples, limits);
    }
    Outcome outcome = run(tried.candidate.func);
    Outcome other = run(reference_);
    outcome.others = std::move(other.samples);
    if (outcome.failure.empty()) outcome.failure = std::move(other.failure);
    return outcome;
  }

  void try_batch(const std::vector<Candidate>& batch, const std::function<bool()>& has_time) {
    std::vector<std::optional<Module>> modules(batch.size());
    std::vector<std::string> failures(batch.size());
    in_threads(options_.runner ? 0 : batch.size(), [&](std::size_t i) {
      try {
        modules[i] = compile(batch[i].func);
      } catch (const UserError& error) {
        failures[i] = std::string("compile error: ") + error.what();
      }
    });
    for (std::size_t i = 0; i < batch.size() && has_time(); ++i) {
      Tried tried{batch[i], modules[i]};
      Outcome outcome{.failure = failures[i]};
      if (outcome.failure.empty()) outcome = measure(tried);
      if (outcome.failure.empty()) tried.seconds = median(outcome.samples);
      trials_.push_back({.trace = batch[i].trace.as_json(),
                         .predicted = batch[i].predicted,
                         .seconds = tried.seconds,
                         .failure = outcome.failure});
      in_vain_ = tried.seconds < 0.99 * quickest_seconds() ? 0 : in_vain_ + 1;
      if (!outcome.failure.empty()) continue;
      search_.learn(batch[i], tried.seconds);
      const auto place = std::ranges::upper_bound(quickest_, tried.seconds, {}, &Tried::seconds);
      quickest_.insert(place, std::move(tried));
      if (quickest_.size() > finalists) quickest_.pop_back();
    }
  }

  double quickest_seconds() const {
    return quickest_.empty() ? std::numeric_limits<double>::infinity() : quickest_[0].seconds;
  }

  /// The one of the finalists that is quickest beside the default schedule, and is right.
  Best best() {
    const Tried* found = nullptr;
    Outcome last;
    double share = std::numeric_limits<double>::infinity();
    for (const Tried& tried : quickest_) {
      Outcome outcome = duel(tried);
      const double own = median(outcome.samples) / median(outcome.others);
      if (!outcome.failure.empty() || own >= share) continue;
      found = &tried;
      last = std::move(outcome);
      share = own;
    }
    require(found != nullptr, ErrorKind::schedule, "search_finds_a_schedule",
            hint("ask for more trials, or for another space; trials tell what failed"), {},
            "search: none of {} candidates could be measured{}", trials_.size(),
            trials_.empty() ? "" : ": " + trials_.back().failure);
    const Outcome check = check_reference();
    require(!check.failure.starts_with("wrong"), ErrorKind::schedule, "search_keeps_results",
            hint("numbers of both signs differ by rounding; pass other arguments"), {},
            "search: the program as it is written gives other results: {}", check.failure);
    Schedule schedule(func_, 1);
    found->candidate.trace.apply_to(schedule);
    return {.schedule = tir::Schedule(std::make_unique<Schedule>(std::move(schedule))),
            .seconds = median(last.samples),
            .default_seconds = median(last.others),
            .samples = std::move(last.samples),
            .default_samples = std::move(last.others),
            .trials = std::move(trials_),
            .is_checked = check.failure.empty()};
  }

  /// Compares what candidates are compared with and the program as it is written, which is the same
  /// under a lock.
  Outcome check_reference() const {
    if (options_.runner) return {.failure = "who measures elsewhere compares, too"};
    if (options_.numerics != Numerics::free) return {};
    BuildOptions plain = options_.build;
    plain.default_schedule = false;
    ChildLimits limits = limits_;
    limits.seconds *= check_factor;
    return workload_->check(build(func_, options_.target, plain), limits);
  }

  Ptr<PrimFunc> func_;
  const SearchOptions& options_;
  ChildLimits limits_;
  Ptr<PrimFunc> reference_;
  Module by_default_;
  std::optional<Workload> workload_;
  Search search_;
  std::vector<Trial> trials_;
  int in_vain_ = 0;  ///< So many of the last ones were not quicker.
  std::vector<Tried> quickest_;
};

/// What is found outlives a file that cannot take it at the end.
Best search_and_record(const Ptr<PrimFunc>& func, const StartedSpace& space,
                       const SearchOptions& options) {
  std::optional<Records> records;
  if (!options.records.empty()) records.emplace(options.records);
  Best best = Tuner(func, space, options).run();
  if (!records || !best.is_quicker()) return best;
  try {
    Record record =
        record_of(func, best.schedule, target_key(options.target, options.build, options.numerics));
    record.seconds = best.seconds;
    record.default_seconds = best.default_seconds;
    record.check = best.is_checked ? "compared with the program without a schedule"
                                   : "compared with the default schedule";
    records->add(record);
  } catch (const UserError& error) {
    best.record_failure = error.what();
  }
  return best;
}

}  // namespace

bool Best::is_quicker() const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(samples.size(), default_samples.size()); ++i) {
    ratios.push_back(default_samples[i] / samples[i]);
  }
  std::ranges::sort(ratios);
  return !ratios.empty() && ratios[ratios.size() / 10] > 1;
}

Best search(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  require_processor(options.target);
  const StartedSpace space = options.space ? space_of(options.space) : own_space(func, options);
  return search_and_record(func, space, options);
}

Best search(const tir::Schedule& schedule, const SearchOptions& options) {
  require_processor(options.target);
  const Trace trace = schedule.engine().trace();
  const Space more = options.space ? space_of(options.space).space : Space();
  const Space space = [&](Schedule& drawn) {
    trace.sample_again(drawn);
    if (more) more(drawn);
  };
  const Ptr<IRModule>& original = schedule.engine().original();
  return search_and_record(Schedule(original, 1).func(), {space, !more}, options);
}

}  // namespace loopsmith::tune
