// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "loopsmith/runtime/argument.h"

namespace loopsmith {

/// How a function is measured.
struct TimingOptions {
  int warmup = 1;     ///< Samples that are thrown away.
  int repeat = 5;     ///< Samples.
  int number = 0;     ///< Calls in a sample. 0: as many as take a millisecond; cold: one.
  bool cold = false;  ///< Drop the arguments' data from all caches before each sample.
};

/// How long a call took, in seconds.
struct Timing {
  double min = 0;
  double median = 0;
  double mean = 0;
  std::vector<double> samples;  ///< In the order in which they were taken.
  double flops = 0;             ///< Floating-point operations of a call; 0 where not known.
  double bytes = 0;             ///< Read and written at least by a call; 0 where not known.
};

/// Seconds that some work takes.
using Clock = std::function<double(const std::function<void()>& work)>;
/// By the clock of the processor.
double seconds_on_host(const std::function<void()>& work);

/// Measures `call`; cold samples are taken after the data of `arguments` was dropped from the
/// caches.
Timing measure(const std::function<void()>& call, std::span<const CallArgument> arguments,
               const TimingOptions& options, const Clock& clock = seconds_on_host);

}  // namespace loopsmith
