// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/candidate_runner.h"

#include <cmath>
#include <limits>

#include "loopsmith/runtime/cpus.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/search/in_threads.h"

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
  by_default_ = compile(reference_);
  for (const Sizes& sizes : sizes_) {
    const bool are_given = points.empty() && !options.arguments.empty();
    workloads_.emplace_back(
        are_given ? options.arguments : random_arguments(*func, options.seed, sizes), *by_default_,
        options.numerics != Numerics::free);
  }
}

Module CandidateRunner::compile(const Ptr<PrimFunc>& func) const {
  return build(with_attr(func, "tir.is_scheduled", Expr(1)), options_.target, options_.build);
}

std::vector<Compiled> CandidateRunner::compiled(const std::vector<Candidate>& batch) const {
  std::vector<Compiled> made;
  for (const Candidate& candidate : batch) made.push_back({candidate});
  in_threads(options_.runner ? 0 : batch.size(), default_num_threads(), [&](std::size_t i) {
    try {
      made[i].module = compile(batch[i].func);
    } catch (const UserError& error) {
      made[i].failure = std::string("compile error: ") + error.what();
    }
  });
  return made;
}

/// What the runner says of a scheduled function.
Outcome CandidateRunner::run(const Ptr<PrimFunc>& func, std::size_t point) const {
  Outcome outcome;
  try {
    outcome.samples = options_.runner(with_sizes(func, sizes_[point]));
  } catch (const UserError& error) {
    outcome.failure = error.what();
  }
  const double seconds = median(outcome.samples);
  if (outcome.failure.empty() && !(std::isfinite(seconds) && seconds > 0)) {
    outcome.failure = "the runner gave no time: it returns seconds, more than 0";
  }
  return outcome;
}

Outcome CandidateRunner::measure(const Compiled& tried, std::size_t point, double best) const {
  if (!tried.failure.empty()) return {.failure = tried.failure};
  if (options_.runner) return run(tried.candidate.func, point);
  return workloads_[point].measure(*tried.module, best, limits_);
}

Outcome CandidateRunner::measure_reference(std::size_t point) const {
  if (options_.runner) return run(reference_, point);
  return workloads_[point].measure(*by_default_, std::numeric_limits<double>::infinity(), limits_);
}

Outcome CandidateRunner::duel(const Compiled& tried, std::size_t point, int warm, int cold) const {
  if (!options_.runner) {
    ChildLimits limits = limits_;
    limits.seconds *= warm + cold;
    return workloads_[point].duel(*tried.module, *by_default_, warm, cold, limits);
  }
  Outcome outcome = run(tried.candidate.func, point);
  Outcome other = run(reference_, point);
  outcome.others = std::move(other.samples);
  if (outcome.failure.empty()) outcome.failure = std::move(other.failure);
  return outcome;
}

std::string CandidateRunner::difference_of_program() const {
  if (options_.runner) return "a runner of your own compares, too";
  if (options_.numerics != Numerics::free) return {};
  BuildOptions plain = options_.build;
  plain.default_schedule = false;
  return check(build(func_, options_.target, plain), check_factor);
}

std::string CandidateRunner::difference_of(const Ptr<PrimFunc>& scheduled) const {
  return options_.runner ? std::string() : check(compile(scheduled), 1);
}

std::string CandidateRunner::check(const Module& program, double factor) const {
  ChildLimits limits = limits_;
  limits.seconds *= factor;
  for (const Workload& workload : workloads_) {
    std::string failure = workload.check(program, limits).failure;
    if (!failure.empty()) return failure;
  }
  return {};
}

}  // namespace loopsmith::tune
