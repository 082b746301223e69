// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/tuner.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measurement.h"
#include "loopsmith/tune/search.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t batch_size = 8;
constexpr std::size_t finalists = 3;
constexpr int duel_samples = 20;
constexpr double check_factor = 10;  ///< How much longer the program as it is written may take.

double median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

/// A space, and what is tried of it first.
struct StartedSpace {
  Space space;
  bool is_concurrent = false;  ///< Threads may draw at once.
  std::vector<Decisions> starts = {};
};

/// The space of a program for which none is given; it starts with the default schedule.
StartedSpace own_space(const Ptr<PrimFunc>& func, const SearchOptions& options) {
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
        limits_{.seconds = options.trial_seconds},
        by_default_(build(func, options.target, options.build)),
        workload_(
            options.arguments.empty() ? random_arguments(*func, options.seed) : options.arguments,
            by_default_),
        search_(func, space.space, cpu_model_of(options.target, options.build), options.seed,
                space.is_concurrent, space.starts, sizes_of(*func, options.arguments)) {}

  Best run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto has_time = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
             options_.seconds;
    };
    const auto wanted = static_cast<std::size_t>(std::max(options_.trials, 0));
    while (trials_.size() < wanted && has_time()) {
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

  Module compile(const Ptr<PrimFunc>& func) const {
    return build(with_attr(func, "tir.is_scheduled", Expr(1)), options_.target, options_.build);
  }

  void try_batch(const std::vector<Candidate>& batch, const std::function<bool()>& has_time) {
    std::vector<std::optional<Module>> modules(batch.size());
    std::vector<std::string> failures(batch.size());
    in_threads(batch.size(), [&](std::size_t i) {
      try {
        modules[i] = compile(batch[i].func);
      } catch (const UserError& error) {
        failures[i] = std::string("compile error: ") + error.what();
      }
    });
    for (std::size_t i = 0; i < batch.size() && has_time(); ++i) {
      Outcome outcome{.failure = failures[i]};
      if (modules[i]) outcome = workload_.measure(*modules[i], quickest_seconds(), limits_);
      Tried tried{batch[i], modules[i]};
      if (outcome.failure.empty()) tried.seconds = median(outcome.samples);
      trials_.push_back({.trace = batch[i].trace.as_json(),
                         .predicted = batch[i].predicted,
                         .seconds = tried.seconds,
                         .failure = outcome.failure});
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
    double seconds = 0, default_seconds = 0, share = std::numeric_limits<double>::infinity();
    BuildOptions plain = options_.build;
    plain.default_schedule = false;
    const Module as_written = build(func_, options_.target, plain);
    for (const Tried& tried : quickest_) {
      const Outcome outcome = workload_.duel(*tried.module, by_default_, duel_samples,
                                             {.seconds = options_.trial_seconds * duel_samples});
      const double own = median(outcome.samples), other = median(outcome.others);
      if (!outcome.failure.empty() || own / other >= share) continue;
      found = &tried;
      seconds = own;
      default_seconds = other;
      share = own / other;
    }
    require(found != nullptr, ErrorKind::schedule, "search_finds_a_schedule",
            hint("ask for more trials, or for another space; trials tell what failed"), {},
            "search: none of {} candidates could be measured{}", trials_.size(),
            trials_.empty() ? "" : ": " + trials_.back().failure);
    const Outcome check =
        workload_.check(as_written, {.seconds = options_.trial_seconds * check_factor});
    require(!check.failure.starts_with("wrong"), ErrorKind::schedule, "search_keeps_results",
            hint("numbers of both signs differ by rounding; pass other arguments"), {},
            "search: the program as it is written gives other results: {}", check.failure);
    Schedule schedule(func_, 1);
    found->candidate.trace.apply_to(schedule);
    return {.schedule = tir::Schedule(std::make_unique<Schedule>(std::move(schedule))),
            .seconds = seconds,
            .default_seconds = default_seconds,
            .trials = std::move(trials_),
            .is_checked = check.failure.empty()};
  }

  Ptr<PrimFunc> func_;
  const SearchOptions& options_;
  ChildLimits limits_;
  Module by_default_;
  Workload workload_;
  Search search_;
  std::vector<Trial> trials_;
  std::vector<Tried> quickest_;
};

}  // namespace

Best search(const Ptr<PrimFunc>& func, const SearchOptions& options) {
  require_processor(options.target);
  const StartedSpace space = options.space ? space_of(options.space) : own_space(func, options);
  return Tuner(func, space, options).run();
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
  return Tuner(Schedule(original, 1).func(), {space, !more}, options).run();
}

}  // namespace loopsmith::tune
