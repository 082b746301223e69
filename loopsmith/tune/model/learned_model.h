// SPDX-License-Identifier: Apache-2.0
// A model that learns from measurements: boosted trees over features of the lowered program.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/ir/function.h"

namespace loopsmith::tune {

/// The model of a processor, corrected by what was measured.
///
/// What is learned is the logarithm of the measured time over the estimated one, from what the most
/// expensive statements of the lowered program are like. Each time that it is trained, it ranks the
/// last fifth of the measurements without having seen them; where it ranks them worse than the
/// model of the processor, that one predicts.
class LearnedModel {
 public:
  explicit LearnedModel(const Target& target);

  /// Seconds of a call of a scheduled function, about. Throws a UserError where it cannot be
  /// lowered.
  double predict(const Ptr<PrimFunc>& func) const;
  /// Takes note of what a scheduled function was measured to take.
  void learn(const Ptr<PrimFunc>& func, double seconds);
  /// Of each training: the rank correlation with unseen measurements, of the trees and of the model
  /// of the processor.
  const std::vector<std::pair<double, double>>& correlations() const;

  /// It is trained from so many measurements on.
  static constexpr std::size_t min_samples = 48;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace loopsmith::tune
