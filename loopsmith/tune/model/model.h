// SPDX-License-Identifier: Apache-2.0
// What ranks candidates before they are measured.
#pragma once
#include <functional>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/sizes/sizes.h"

namespace loopsmith::tune {

/// Predicts how long candidates take; it may learn.
struct Model {
  /// Seconds of a call of a scheduled function, about, in any unit; none: nothing is predicted.
  std::function<double(const Ptr<PrimFunc>&)> predict = {};
  /// Takes note of what a scheduled function was measured to take; none: it does not learn.
  std::function<void(const Ptr<PrimFunc>&, double seconds)> learn = {};
  bool is_concurrent = false;  ///< Threads may ask it concurrently.
};

/// The model of a processor.
Model model_of(const CpuModel& machine);
/// A model that takes symbolic sizes for numbers.
Model with_sizes(Model model, Sizes sizes);

}  // namespace loopsmith::tune
