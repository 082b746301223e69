// SPDX-License-Identifier: Apache-2.0
// Conditions taken apart. Private to this floor.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith::arith {

/// The conditions that a condition joins by `and`, in order, without those that are `true`;
/// `likely` is looked through.
std::vector<Expr> conjuncts(const Expr& condition);

/// left <= right, left < right, or left == right, of integers that do not wrap.
struct Comparison {
  Expr left;
  Expr right;
  bool is_strict = false;
  bool is_equality = false;
};

/// A comparison of integers by < <= > >= or ==; nullopt for any other condition.
std::optional<Comparison> comparison_of(const Expr& condition);

}  // namespace loopsmith::arith
