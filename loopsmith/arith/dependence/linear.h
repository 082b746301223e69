// SPDX-License-Identifier: Apache-2.0
// Linear forms over numbered symbols, in 64 bits. Private to this folder.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"

namespace loopsmith::dependence {

using Interval = ConstIntBound;

/// The number of a symbol in its `Program`.
using Symbol = std::int32_t;

struct Term {
  Symbol symbol;
  std::int64_t coefficient;
  bool operator==(const Term&) const = default;
};

/// constant + the sum of coefficient * symbol: sorted by symbol, without zeros.
struct Linear {
  std::int64_t constant = 0;
  std::vector<Term> terms = {};

  bool operator==(const Linear&) const = default;
  bool is_constant() const { return terms.empty(); }
  std::int64_t coefficient(Symbol symbol) const;
};

/// The form that is `symbol` alone.
Linear linear_of(Symbol symbol);
/// a + factor * b; nullopt where 64 bits do not suffice.
std::optional<Linear> sum(const Linear& a, const Linear& b, std::int64_t factor = 1);
/// factor * a; nullopt where 64 bits do not suffice.
std::optional<Linear> product(const Linear& a, std::int64_t factor);

/// Rounded down and up, by a positive divisor.
std::int64_t floor_quotient(std::int64_t a, std::int64_t divisor);
std::int64_t ceil_quotient(std::int64_t a, std::int64_t divisor);

}  // namespace loopsmith::dependence
