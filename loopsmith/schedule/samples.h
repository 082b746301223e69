// SPDX-License-Identifier: Apache-2.0
// What the samples of a schedule draw from, and are told.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// The random numbers of a schedule, and the decisions that its samples are told.
class Samples {
 public:
  /// What a sample decides: the name of its primitive, and the decision as in a trace.
  using Decision = std::pair<std::string, Argument>;

  /// The modulus of the random numbers: the largest seed.
  static constexpr std::int64_t modulus = 2147483647;

  /// A number in [0, modulus), of a linear congruential generator.
  std::int64_t next_random();
  void seed(std::int64_t seed);
  std::int64_t fork_seed();

  /// Says what the samples from here on decide, in their order, whatever their calls say. One that
  /// is of another kind than its decision, or may not decide so, does not heed it; nor do those
  /// after the last decision.
  void tell(std::vector<Decision> decisions);
  /// What the next sample was told, if that is for a primitive of this name.
  std::optional<Argument> told(std::string_view primitive);

 private:
  std::int64_t random_ = 1;
  std::shared_ptr<const std::vector<Decision>> told_;
  std::size_t next_told_ = 0;
};

}  // namespace loopsmith
