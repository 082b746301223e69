// SPDX-License-Identifier: Apache-2.0
// Why a primitive cannot be applied: data, of which text is made when somebody asks.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// What a primitive demands. Each {} in `problem` stands for a subject of the refusal.
struct Condition {
  std::string_view id;
  std::string_view problem;
  std::string_view hint;
};

/// Two iterations that access one element.
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

}  // namespace loopsmith
