// SPDX-License-Identifier: Apache-2.0
// Why a primitive cannot be applied: data, of which text is made when somebody asks.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

class PrimitiveBase;

/// What a primitive demands. Each {} in `problem` stands for a subject of the refusal.
struct Condition {
  std::string_view id;
  std::string_view problem;
  std::string_view hint;
};

/// Two iterations that touch one element.
struct Witness {
  struct Iteration {
    std::vector<std::pair<std::string, std::int64_t>> loops;  ///< Their values, by name.
    bool writes = false;
  };
  Iteration first;
  Iteration second;
  std::string buffer;
  std::vector<std::int64_t> element;

  /// `iteration i=3 writes B[4], iteration i=4 reads it`
  std::string text() const;
};

/// A refused primitive: the condition that does not hold, and what it speaks of.
struct Refusal {
  const Condition* condition = nullptr;
  std::vector<Argument> subjects = {};
  std::optional<Witness> witness = {};
};

/// A plan, or why there is none.
template <class Plan>
using Planned = std::variant<Plan, Refusal>;

/// How much of a refusal its text tells.
enum class ErrorDetail : std::uint8_t { none, brief, full };

/// A refusal that is shown: what a primitive throws. What costs more than a line of text is made
/// when it is asked for, of the schedule as it was then.
class ScheduleError : public UserError {
 public:
  /// Of something that is no call of a primitive, and has no fixes.
  ScheduleError(const Schedule& schedule, std::string_view name, Refusal refusal);
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
