// SPDX-License-Identifier: Apache-2.0
// Refusals that are shown: errors with text, picture and fixes.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

/// A call that was refused, and the schedule as it was.
struct RefusedCall {
  const Schedule& schedule;
  const PrimitiveBase& primitive;
  const std::vector<Argument>& arguments;
  const Refusal& refusal;
};

/// How much of a refusal its text tells.
enum class ErrorDetail : std::uint8_t { none, brief, full };

/// A refusal that is shown: what a primitive throws. Fixes and the picture are computed on demand,
/// from a snapshot of the schedule.
class ScheduleError : public UserError {
 public:
  /// For an operation other than a primitive; it has no fixes.
  ScheduleError(const Schedule& schedule, std::string_view name, Refusal refusal);
  /// For a call of a primitive.
  ScheduleError(const Schedule& schedule, const PrimitiveBase& primitive,
                std::vector<Argument> arguments, Refusal refusal);

  const std::string& primitive() const;
  const Refusal& refusal() const;
  /// The subjects as text, in their order.
  const std::vector<std::string>& subjects() const;
  /// The program with the loops and blocks at fault underlined; empty when there are none.
  const std::string& picture() const;
  /// Calls that could be made instead, as lines of Python; they were tried on a copy and passed.
  const std::vector<std::string>& fixes() const;
  /// The problem, the hint, the place, and in `full` detail the fixes and the picture.
  const char* what() const noexcept override;
  /// Says how much `what` tells.
  void set_detail(ErrorDetail detail);

 private:
  struct Parts;

  std::shared_ptr<Parts> parts_;
};

/// The problem of a refusal, its subjects by name.
std::string explain(const Schedule& schedule, const Refusal& refusal);

}  // namespace loopsmith
