// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/candidate_runner.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "loopsmith/runtime/cpus.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measure/in_time.h"

namespace loopsmith::tune {
namespace {

constexpr double check_factor = 10;  ///< How much longer the program as it is written may take.

}  // namespace

CandidateRunner::CandidateRunner(const Ptr<PrimFunc>& func, const std::vector<DrawnSizes>& points,
                                 const SearchOptions& options)
    : func_(func),
      options_(options),
      limits_{.seconds = options.trial_seconds, .bytes = options.trial_bytes},
      reference_(reference_of(func, options.target, options.build, options.numerics)) {
  for (const DrawnSizes& point : points) sizes_.push_back(point.sizes);
  if (points.empty()) sizes_.push_back(sizes_of(*func, options.arguments));
  if (options.runner) return;
  for (const Sizes& sizes : sizes_) {
    const bool are_given = points.empty() && !options.arguments.empty();
    arguments_.push_back(are_given ? options.arguments
                                   : random_arguments(*func, options.seed, sizes));
  }
  if (is_device()) return;
  by_default_ = compile(reference_);
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    try {
      workloads_.emplace_back(arguments_[i], *by_default_, options.numerics != Numerics::free);
    } catch (const UserError& error) {
      if (points.empty()) throw;
      throw error.in_phase(fmt::format("tune: {} with {}", func->name(), sizes_text(sizes_[i])));
    }
  }
}

Module CandidateRunner::compile(const Ptr<PrimFunc>& func) const {
  return build(with_attr(func, "tir.is_scheduled", Expr(1)), options_.target, options_.build);
}

std::vector<Compiled> CandidateRunner::compiled(const std::vector<Candidate>& batch) const {
  // Owned by all of its compilers: one that is left behind writes here, too.
  const auto made = std::make_shared<std::vector<Compiled>>();
  for (const Candidate& candidate : batch) made->push_back({candidate});
  if (options_.runner || is_device()) return std::move(*made);
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    tasks.emplace_back([made, i, target = options_.target, options = options_.build] {
      Compiled& own = (*made)[i];
      try {
        own.module = build(own.candidate.func, target, options);
      } catch (const UserError& error) {
        own.failure = compile_error;
        own.detail = error.what();
      }
    });
  }
  const std::vector<bool> in_time =
      ended_in_time(std::move(tasks), default_num_threads(), limits_.seconds);
  std::vector<Compiled> found;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    found.push_back(
        in_time[i] ? std::move((*made)[i])
                   : Compiled{.candidate = batch[i],
                              .failure = compile_timeout,
                              .detail = fmt::format("not compiled within {} s", limits_.seconds)});
  }
  return found;
}

/// What the runner says of a scheduled function.
Outcome CandidateRunner::run(const Ptr<PrimFunc>& func, std::size_t point) const {
  Outcome outcome;
  try {
    outcome.samples = options_.runner(with_sizes(func, sizes_[point]));
  } catch (const UserError& error) {
    outcome = {.failure = run_error, .detail = error.what()};
  }
  return outcome;
}

Outcome CandidateRunner::in_process(const Compiled& tried, std::size_t point, double factor,
                                    const Use& use) const {
  if (!tried.failure.empty()) return {.failure = tried.failure, .detail = tried.detail};
  ChildLimits limits = limits_;
  limits.seconds *= factor;
  if (is_device()) return in_process_of_device(tried.candidate.func, point, limits, use);
  return in_child([&] { return use(workloads_[point], *tried.module, *by_default_); }, limits);
}

Outcome CandidateRunner::in_process_of_device(const Ptr<PrimFunc>& func, std::size_t point,
                                              const ChildLimits& limits, const Use& use) const {
  const auto task = [&]() -> Outcome {
    std::optional<Module> program;
    try {
      program = compile(func);
    } catch (const UserError& error) {
      return {.failure = compile_error, .detail = error.what()};
    }
    const Module reference = compile(reference_);
    const Workload workload(arguments_[point], reference, options_.numerics != Numerics::free);
    return use(workload, *program, reference);
  };
  return in_child(task, limits);
}

Outcome CandidateRunner::measure(const Compiled& tried, std::size_t point, double best) const {
  if (options_.runner) return run(tried.candidate.func, point);
  return in_process(tried, point, 1,
                    [&](const Workload& workload, const Module& program, const auto&) {
                      return workload.measure(program, best);
                    });
}

Outcome CandidateRunner::measure_reference(std::size_t point) const {
  if (options_.runner) return run(reference_, point);
  const Compiled reference{.candidate = {.func = reference_}, .module = by_default_};
  return measure(reference, point, std::numeric_limits<double>::infinity());
}

Outcome CandidateRunner::duel(const Compiled& tried, std::size_t point, int warm, int cold) const {
  if (!options_.runner) {
    return in_process(
        tried, point, warm + cold,
        [&](const Workload& workload, const Module& program, const Module& reference) {
          return workload.duel(program, reference, warm, cold);
        });
  }
  Outcome outcome = run(tried.candidate.func, point);
  Outcome other = run(reference_, point);
  outcome.others = std::move(other.samples);
  if (outcome.failure.empty()) {
    outcome.failure = std::move(other.failure);
    outcome.detail = std::move(other.detail);
  }
  return outcome;
}

Outcome CandidateRunner::check(const Compiled& tried, std::size_t point) const {
  if (options_.runner) {
    return {.failure = not_compared, .detail = "a runner of your own compares, too"};
  }
  BuildOptions plain = options_.build;
  plain.default_schedule = false;
  // A device takes no program as it is written.
  const Target target = is_device() ? Target("llvm -mcpu=native") : options_.target;
  const bool is_locked = options_.numerics != Numerics::free;
  return in_process(tried, point, check_factor,
                    [&](const Workload& workload, const Module& program, const Module& reference) {
                      Outcome own = workload.check(program);
                      if (!own.failure.empty()) return own;
                      return workload.compare(program,
                                              is_locked ? reference : build(func_, target, plain));
                    });
}

Measurer measurer_of(const CandidateRunner& runner, int warm, int cold) {
  const auto ready = std::make_shared<std::vector<Compiled>>();
  const auto compiled = [&runner, ready](const Candidate& candidate) -> const Compiled& {
    const auto is_it = [&](const Compiled& each) {
      return each.candidate.program == candidate.program;
    };
    const auto found = std::ranges::find_if(*ready, is_it);
    if (found != ready->end()) return *found;
    *ready = runner.compiled({candidate});  // Kept: it is measured with each size.
    return ready->front();
  };
  Measurer made;
  made.batch = static_cast<std::size_t>(default_num_threads());  // All compile at once.
  made.prepare = [&runner, ready](const std::vector<Candidate>& batch) {
    *ready = runner.compiled(batch);
  };
  made.measure = [&runner, compiled](const std::vector<Candidate>& some, std::size_t point,
                                     double best) {
    std::vector<Outcome> outcomes;
    for (const Candidate& each : some) {
      outcomes.push_back(runner.measure(compiled(each), point, best));
    }
    return outcomes;
  };
  made.measure_reference = [&runner](std::size_t point) { return runner.measure_reference(point); };
  made.duel = [&runner, compiled, warm, cold](const Candidate& candidate, std::size_t point) {
    return runner.duel(compiled(candidate), point, warm, cold);
  };
  made.check = [&runner, compiled](const Candidate& candidate, std::size_t point) {
    return runner.check(compiled(candidate), point);
  };
  return made;
}

}  // namespace loopsmith::tune
