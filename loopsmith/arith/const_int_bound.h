// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>

#include "loopsmith/ir/data_type.h"

namespace loopsmith {

/// Constants between which a value lies, ends included; an infinite end says that nothing is known.
struct ConstIntBound {
  static constexpr std::int64_t pos_inf = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t neg_inf = -pos_inf;

  std::int64_t min_value = neg_inf;
  std::int64_t max_value = pos_inf;

  bool operator==(const ConstIntBound&) const = default;
  bool is_everything() const { return min_value == neg_inf && max_value == pos_inf; }
  bool is_point() const { return min_value == max_value; }
  /// True when no value can lie between them: the facts contradict each other.
  bool is_empty() const { return min_value > max_value; }
  bool is_non_negative() const { return min_value >= 0; }
  bool contains(std::int64_t value) const;
};

namespace arith {

/// Arithmetic of intervals that never overflows: what leaves 64 bits becomes an infinite end.
/// An empty interval counts as everything.
ConstIntBound point(std::int64_t value);
ConstIntBound all_of(DataType type);
ConstIntBound unite(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound intersect(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound add(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound subtract(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound multiply(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound minimum(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound maximum(const ConstIntBound& a, const ConstIntBound& b);
/// Divisions assume that the divisor is not 0.
ConstIntBound floor_divide(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound floor_modulo(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound trunc_divide(const ConstIntBound& a, const ConstIntBound& b);
ConstIntBound trunc_modulo(const ConstIntBound& a, const ConstIntBound& b);

/// Of integers; `b` is not 0.
constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace arith
}  // namespace loopsmith
