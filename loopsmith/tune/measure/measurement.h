// SPDX-License-Identifier: Apache-2.0
// Candidates run in child processes: what crashes, hangs or computes something else is an outcome.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/module.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/tune/measure/outcome.h"
#include "loopsmith/tune/sizes/sizes.h"

namespace loopsmith::tune {

/// The one in the middle; infinity where there is none.
double median(std::vector<double> samples);

/// The time of a call, the median of the samples; infinity where there is none. One that is no
/// positive number is a failure from then on.
double time_of(Outcome& outcome);

/// Arrays with random numbers for the parameters of a function: floats are normally distributed,
/// those of 16 bits from 0.5 to 1, of both signs, integers are 0 to 9, all others 0. Throws a
/// UserError where a size is not known, or a parameter no tensor.
std::vector<NDArray> random_arguments(const PrimFunc& func, std::uint64_t seed,
                                      const Sizes& sizes = {});

/// Where results differ by more than rounding may: floats of 16, 32 and 64 bits differ by the
/// square root of their type's precision, of the element and of the largest one in the array, as
/// sums are regrouped, no more; all others are equal, and floats too where that `is_exact`. Empty
/// where they do not.
std::string difference(const std::vector<NDArray>& expected, const std::vector<NDArray>& got,
                       bool is_exact = false);

/// What a child process may use.
struct ChildLimits {
  double seconds = 10;
  std::int64_t bytes = std::int64_t{4} << 30;  ///< Beside what this process has.
};

/// Carries out a task in a child process; what it throws, a crash and a hang are outcomes.
Outcome in_child(const std::function<Outcome()>& task, const ChildLimits& limits);

/// What programs are called with, and what they have to give.
class Workload {
 public:
  /// The program is called once, here, for what it gives, to the bit where that `is_exact`.
  /// Arguments stay as they are.
  Workload(const std::vector<NDArray>& arguments, const Module& program, bool is_exact = false);

  /// Checks and measures a program; one that cannot be quicker than `best` is measured once.
  Outcome measure(const Module& program, double best) const;
  /// Measures two programs in turns, so often with what they need in the caches, and without.
  Outcome duel(const Module& program, const Module& other, int warm, int cold) const;
  /// Checks a program alone.
  Outcome check(const Module& program) const;
  /// Compares what two programs give.
  Outcome compare(const Module& program, const Module& other) const;

 private:
  std::vector<NDArray> results(const Module& program) const;

  std::vector<NDArray> arguments_;
  std::vector<NDArray> expected_;
  bool is_exact_;
};

}  // namespace loopsmith::tune
