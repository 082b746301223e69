// SPDX-License-Identifier: Apache-2.0
// For tests only: calls of primitives drawn at random.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/testing/draw.h"

namespace loopsmith::schedule_testing {

/// A call: one argument for each parameter, or nothing for its default. Loops and blocks are meant
/// by their names, so that it can be made of another program, too.
struct DrawnStep {
  const PrimitiveBase* primitive = nullptr;
  std::vector<std::optional<Argument>> arguments = {};

  /// Makes the call; throws what the primitive throws.
  void apply(Schedule& schedule) const;
  /// Whether the primitive says before that it can be made.
  bool may_apply(const Schedule& schedule) const;
};

/// A primitive that is not drawn, as it changes what a program computes by what it is.
struct LeftOut {
  std::string_view primitive;
  std::string_view reason;
};
std::span<const LeftOut> left_out();

/// Draws a call, with arguments that have a chance in the program as it is.
DrawnStep draw_step(Draw& draw, const Schedule& schedule);

}  // namespace loopsmith::schedule_testing
