// SPDX-License-Identifier: Apache-2.0
// Which rules may apply to a term, and how their patterns match it. Private to this floor.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "loopsmith/arith/knowledge.h"
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {

/// What the names of a pattern stand for.
struct Binding {
  std::array<Term, 7> variables{};
  std::array<std::int64_t, 4> constants{};
  std::uint8_t bound_constants = 0;  ///< A bit for each.
  DataType operand_type;             ///< Of the numbers in the pattern.
  DataType result_type;              ///< Of the whole.
  bool swaps_min_max = false;        ///< The min or max was matched in reverse.
};

/// A rule with one way to take the operands of its commutative nodes.
struct Candidate {
  std::uint32_t second_kinds;  ///< A bit for each kind that its second operand accepts.
  std::uint32_t swapped;       ///< A bit for each atom whose operands are taken in reverse.
  bool swaps_min_max;          ///< Its only min or max is taken so.
  const Rule* rule;
};

/// The candidates for terms of `kind` whose first operand is of kind `first`, in order.
std::span<const Candidate> candidates(Kind kind, Kind first);

/// Matches the rule's `before` with a term of these operands.
bool match(const Candidate& candidate, Terms& terms, const TermNode& root, Binding& binding);

/// The value of a pattern of constants; nullopt when it mentions variables or overflows.
std::optional<std::int64_t> constant_value(const Pattern::Atom* atom, const Binding& binding);

/// True when the rule's types and `given` allow it.
bool is_given(const Rule& rule, Knowledge& knowledge, const Binding& binding);

}  // namespace loopsmith::arith
