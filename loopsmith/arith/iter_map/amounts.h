// SPDX-License-Identifier: Apache-2.0
// Arithmetic of factors and extents: of constants at once, of expressions by the analyzer. Private
// to iteration maps.
#pragma once
#include <optional>

#include "loopsmith/arith/iter_map.h"

namespace loopsmith::arith {

/// Thrown, and caught, within iteration maps: why something is none.
struct NoIterMap {
  const char* reason;
};

class Amounts {
 public:
  explicit Amounts(Analyzer& analyzer) : analyzer_(analyzer) {}

  Amount add(const Amount& a, const Amount& b);
  Amount subtract(const Amount& a, const Amount& b);
  Amount multiply(const Amount& a, const Amount& b);
  /// a / b where that is known to be exact; `b` is not 0.
  std::optional<Amount> quotient(const Amount& a, const Amount& b);
  Amount floor_quotient(const Amount& a, const Amount& b);
  Amount floor_remainder(const Amount& a, const Amount& b);
  /// Rounded up; `b` is positive.
  Amount ceil_quotient(const Amount& a, const Amount& b);
  Amount minimum(const Amount& a, const Amount& b);
  Amount maximum(const Amount& a, const Amount& b);

  bool equal(const Amount& a, const Amount& b);
  /// True when a <= b is known.
  bool at_most(const Amount& a, const Amount& b);
  /// True when it is known to be positive, or 0; what divides is taken not to be 0.
  bool is_divisor(const Amount& a);

  Analyzer& analyzer() { return analyzer_; }

 private:
  template <class Combine>
  Amount symbolic(const Amount& a, const Amount& b, Combine combine);

  Analyzer& analyzer_;
};

/// True when the split gives every value of its source from `lower_factor` on: no `%` is needed.
bool is_top(Amounts& amounts, const IterSplitExpr& split);

}  // namespace loopsmith::arith
