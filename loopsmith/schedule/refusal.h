// SPDX-License-Identifier: Apache-2.0
// Why a primitive cannot be applied: data, of which text is made when somebody asks.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/arith/dependence/legality_question.h"
#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// What a primitive demands. Each {} in `problem` stands for a subject of the refusal. Conditions
/// that are one question to a user, asked in several ways, have one id.
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

/// In what way results would change, or may.
struct ResultChange {
  LegalityQuestion question;  ///< What has to hold, and would not.
  bool is_known;             ///< There is a witness or a proof; else it is not known that it holds.
  std::string_view problem;  ///< Each {} stands for a subject.
  std::string_view hint;
};

/// The legality check of every step: the program computes after it what it computed before.
inline constexpr Condition step_keeps_results{
    "step_keeps_results", "results would change, or it is not known that they stay",
    "move what it conflicts with first, or keep a copy of the buffer with cache_read"};

inline constexpr ResultChange empty_reductions_start{
    LegalityQuestion::leave_out, false,
    "loop {} may have no iteration, where block {} gives its init; after this step it would give "
    "nothing",
    "decompose_reduction first, or give the loop a constant extent"};

/// A refused primitive: the condition that does not hold, and what it speaks of.
struct Refusal {
  const Condition* condition = nullptr;
  std::vector<Argument> subjects = {};
  std::optional<Witness> witness = {};
  std::optional<ResultChange> change = {};  ///< Of `step_keeps_results`.

  /// What its text and hint are made of.
  std::string problem() const;
  std::string_view hint() const { return change ? change->hint : condition->hint; }
};

/// The refusal of a step that would change results, or may.
Refusal changed_results(const ResultChange& change, std::vector<Argument> subjects,
                        std::optional<Witness> witness = {});

/// A plan, or why there is none.
template <class Plan>
using Planned = std::variant<Plan, Refusal>;

}  // namespace loopsmith
