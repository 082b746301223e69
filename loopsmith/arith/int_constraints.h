// SPDX-License-Identifier: Apache-2.0
// Systems of linear equations and inequalities over the integers, and their exact solutions.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/arith/int_set.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// Conditions on variables.
struct IntConstraints {
  std::vector<Ptr<Var>> variables;
  std::vector<Ptr<Range>> ranges;  ///< One for each variable, null where none is known; or none.
  std::vector<Expr> relations;     ///< All of them hold.
};

/// The same solutions, told by other variables.
struct IntConstraintsTransform {
  IntConstraints src;
  IntConstraints dst;
  Substitution src_to_dst;  ///< Each variable of `src` in terms of those of `dst`.
  Substitution dst_to_src;
};

/// What is known of coef * variable: it is at least each of `lower`, equal to each of `equal`, and
/// at most each of `upper`.
struct IntGroupBounds {
  std::int64_t coef = 1;
  std::vector<Expr> lower;
  std::vector<Expr> equal;
  std::vector<Expr> upper;

  /// The values of the variable, where one lower and one upper limit bound it; of several such
  /// pairs, that of the smallest constant extent. Null where there is none.
  Ptr<Range> find_best_range(const Domains& domains) const;
};

struct VariableBounds {
  Ptr<Var> variable;
  IntGroupBounds bounds;
};

/// A system solved for its variables in order: the bounds of each are in terms of those after it.
struct PartialSolution {
  std::vector<VariableBounds> bounds;
  std::vector<Expr> relations;  ///< What else has to hold; `false` alone where nothing solves it.
};

/// Solves the equations of the system by new variables, as few as there are free ones, with which
/// the first of the old ones that depends on them grows. Relations that are no linear equation are
/// kept, in terms of the new variables. Where there is no solution, dst has the relation `false`
/// alone. Throws a UserError where numbers leave 64 bits.
IntConstraintsTransform solve_linear_equations(const IntConstraints& system);

/// Bounds of each variable, by elimination. Throws a UserError when that takes too many steps.
PartialSolution solve_linear_inequalities(const IntConstraints& system);

/// The system with the best range for each variable; relations that the ranges imply are dropped.
IntConstraints solve_inequalities_to_range(const IntConstraints& system);

/// The same in terms of variables that start at 0. A variable that has one value is that value, and
/// one without a range stays itself.
IntConstraintsTransform solve_inequalities_deskew_range(const IntConstraints& system);

}  // namespace loopsmith
