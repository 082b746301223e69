// SPDX-License-Identifier: Apache-2.0
// Compiles candidates here, and has them measured: in child processes, or by a given runner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/measure/measurer.h"
#include "loopsmith/tune/search/candidate.h"
#include "loopsmith/tune/search/search_options.h"

namespace loopsmith::tune {

/// A candidate, and its code.
struct Compiled {
  Candidate candidate;
  std::optional<Module> module = {};  ///< None where a given runner measures.
  std::string failure = {};           ///< Why it could not be compiled,
  std::string detail = {};            ///< and what was said.
};

/// Measures candidates of one function, called with arguments of some sizes.
class CandidateRunner {
 public:
  /// Arguments are drawn for each of the sizes; with none, they are those of the options. Throws a
  /// UserError where they cannot be drawn, or the default schedule refuses them.
  CandidateRunner(const Ptr<PrimFunc>& func, const std::vector<DrawnSizes>& points,
                  const SearchOptions& options);

  /// What candidates are compared with, and have to beat.
  const Ptr<PrimFunc>& reference() const { return reference_; }

  /// Compiles in threads of this process. One that takes longer than a trial may is left behind,
  /// and has failed.
  std::vector<Compiled> compiled(const std::vector<Candidate>& batch) const;
  /// Checks a candidate and measures it with the arguments of a point; one that cannot be quicker
  /// than `best` is measured once.
  Outcome measure(const Compiled& tried, std::size_t point, double best) const;
  /// Measures what everything has to beat.
  Outcome measure_reference(std::size_t point) const;
  /// Measures a candidate beside that, in turns, so often warm and cold.
  Outcome duel(const Compiled& tried, std::size_t point, int warm, int cold) const;
  /// Compares a candidate with the program as it is written; under a lock, with what candidates
  /// are compared with, which is that.
  Outcome check(const Compiled& tried, std::size_t point) const;

 private:
  /// What is done with a program in a child process.
  using Use =
      std::function<Outcome(const Workload&, const Module& program, const Module& reference)>;

  bool is_device() const { return options_.target.is_gpu(); }
  Module compile(const Ptr<PrimFunc>& func) const;
  Outcome run(const Ptr<PrimFunc>& func, std::size_t point) const;
  /// Lets a child process use a candidate with the arguments of a point.
  Outcome in_process(const Compiled& tried, std::size_t point, double factor, const Use& use) const;
  /// The same of a device: this process leaves it alone, as children cannot use one that their
  /// parent has used. So each of them compiles, and computes what is expected.
  Outcome in_process_of_device(const Ptr<PrimFunc>& func, std::size_t point,
                               const ChildLimits& limits, const Use& use) const;

  Ptr<PrimFunc> func_;
  const SearchOptions& options_;
  ChildLimits limits_;
  Ptr<PrimFunc> reference_;
  std::optional<Module> by_default_;  ///< None of a device, and where a given runner measures.
  std::vector<Sizes> sizes_;
  std::vector<std::vector<NDArray>> arguments_;  ///< None where a given runner measures.
  std::vector<Workload> workloads_;              ///< None of a device, either.
};

/// What measures candidates, and in a duel so often warm and cold. The runner outlives it.
Measurer measurer_of(const CandidateRunner& runner, int warm, int cold);

}  // namespace loopsmith::tune
