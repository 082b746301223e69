// SPDX-License-Identifier: Apache-2.0
// Arithmetic of factors and extents: of constants at once, of expressions by the analyzer. Private
// to iteration maps.
#pragma once
#include <optional>
#include <utility>

#include "loopsmith/arith/iter_map.h"

namespace loopsmith::arith {

/// Where something fails, the first reason is kept; until it is taken, no result means anything.
class SymbolicArithmetic {
 public:
  explicit SymbolicArithmetic(Analyzer& analyzer) : analyzer_(analyzer) {}

  /// Notes why something is no iteration map. Gives a number that may stand anywhere.
  SymbolicInt fail(const char* reason);
  const char* failure() const { return failure_; }  ///< Null where nothing failed.
  const char* take_failure() { return std::exchange(failure_, nullptr); }

  SymbolicInt add(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt subtract(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt multiply(const SymbolicInt& a, const SymbolicInt& b);
  /// a / b where that is known to be exact; `b` is not 0.
  std::optional<SymbolicInt> quotient(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt floor_quotient(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt floor_remainder(const SymbolicInt& a, const SymbolicInt& b);
  /// Rounded up; `b` is positive.
  SymbolicInt ceil_quotient(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt minimum(const SymbolicInt& a, const SymbolicInt& b);
  SymbolicInt maximum(const SymbolicInt& a, const SymbolicInt& b);

  bool equal(const SymbolicInt& a, const SymbolicInt& b);
  /// True when a <= b is known.
  bool at_most(const SymbolicInt& a, const SymbolicInt& b);
  /// True when it is known to be positive, or 0; what divides is taken not to be 0.
  bool is_divisor(const SymbolicInt& a);

 private:
  template <class Combine>
  SymbolicInt symbolic(const SymbolicInt& a, const SymbolicInt& b, Combine combine);
  /// As an expression of that type.
  Expr in_type(const SymbolicInt& a, DataType type);

  Analyzer& analyzer_;
  const char* failure_ = nullptr;
};

/// True when the split gives every value of its source from `lower_factor` on: no `%` is needed.
bool is_top(SymbolicArithmetic& arithmetic, const IterSplitExpr& split);

}  // namespace loopsmith::arith
