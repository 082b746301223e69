// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

class Analyzer;

/// The integers between two expressions, ends included; or none.
class IntSet {
 public:
  /// Every integer.
  IntSet() = default;
  /// Those from `min_value` to `max_value`; a null end leaves that side open.
  IntSet(Expr min_value, Expr max_value)
      : min_value_(std::move(min_value)), max_value_(std::move(max_value)) {}

  static IntSet nothing();
  static IntSet single_point(const Expr& value) { return {value, value}; }
  static IntSet from_range(const Ptr<Range>& range);

  bool is_nothing() const { return is_nothing_; }
  bool is_everything() const {
    return !is_nothing_ && !min_value_.defined() && !max_value_.defined();
  }
  bool is_single_point() const { return min_value_.defined() && min_value_.same_as(max_value_); }
  bool has_lower_bound() const { return min_value_.defined(); }
  bool has_upper_bound() const { return max_value_.defined(); }
  /// The ends; null where that side is open, or nothing is in the set.
  const Expr& min_value() const { return min_value_; }
  const Expr& max_value() const { return max_value_; }

 private:
  Expr min_value_;
  Expr max_value_;
  bool is_nothing_ = false;
};

/// What variables run through. An end may mention other variables of the map.
using Domains = std::unordered_map<Ref, IntSet, RefHash, RefEqual>;

/// A set with all values of both.
IntSet unite(const IntSet& a, const IntSet& b);
/// The values in both; ends of which neither is known to be further in become a min or max.
IntSet intersect(const IntSet& a, const IntSet& b);

/// A set with all values that `expr` takes while variables run through their domains; other
/// variables stay in its ends. What divides is taken not to be 0.
IntSet evaluate_set(const Expr& expr, const Domains& domains, Analyzer& analyzer);

}  // namespace loopsmith
