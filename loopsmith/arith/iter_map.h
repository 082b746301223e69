// SPDX-License-Identifier: Apache-2.0
// Iteration maps: indices as sums of digits of loops, and what follows from that form: which maps
// are bijective, how they are inverted, simplified, and divided into an outer and an inner part.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/expected.h"

namespace loopsmith {

class Analyzer;

/// An integer that no loop changes: a constant, or an expression.
struct SymbolicInt {
  std::int64_t constant = 0;
  Expr symbolic;  ///< Where it is not null, this is the value.

  SymbolicInt(std::int64_t constant = 0) : constant(constant) {}
  explicit SymbolicInt(const Expr& expr);

  bool is_constant() const { return !symbolic.defined(); }
  bool is(std::int64_t value) const { return is_constant() && constant == value; }
  Expr expr(DataType dtype) const;
};

struct IterMark;

/// scale * ((source // lower_factor) % extent), where 0 <= source < source->extent.
struct IterSplitExpr {
  std::shared_ptr<const IterMark> source;
  SymbolicInt lower_factor = 1;
  SymbolicInt extent;
  SymbolicInt scale = 1;
};

/// The sum of `args` and `base`.
struct IterSumExpr {
  std::vector<IterSplitExpr> args;
  SymbolicInt base;
};

/// A number that runs through 0, 1, ..., extent - 1: `var - min`, or a sum.
struct IterMark {
  Ptr<Var> var;  ///< Null for a sum.
  Expr min;      ///< Of `var`; null for a sum.
  IterSumExpr sum;
  SymbolicInt extent;
  std::int64_t left_pad = 0;  ///< So many of its first values are never taken.
  bool overlaps = false;      ///< Different values of what is summed may give the same sum.
  int depth = 0;              ///< 0 for a variable; for a sum, one more than what it sums.
};

/// A variable that runs from `min` through `extent` values.
struct Iterator {
  Ptr<Var> var;
  Expr min;
  Expr extent;
};

/// What is asked of an iteration map.
enum class IterMapLevel : std::int32_t {
  bijective = 0,   ///< Each point of the box of indices is reached exactly once.
  surjective = 1,  ///< Each is reached, but for those that `padding_predicate` tells.
  no_check = 3,    ///< Each index has the form; together they may miss points.
};

struct IterMapOptions {
  Expr predicate;  ///< What is known of the iterators: a conjunction of comparisons. Null: nothing.
  IterMapLevel level = IterMapLevel::surjective;
  bool simplify_trivial_iterators = true;  ///< One that runs through one value becomes that value.
};

/// The indices as sums of at most one term each; none where they have no such form.
struct IterMapResult {
  std::vector<IterSumExpr> indices;
  std::vector<std::string> errors;  ///< Why there are none.
  /// Different points are known to have different indices; not asked at `no_check`.
  bool is_injective = false;
  /// In terms of the iterators, where these run on until each divisor divides their extent: true at
  /// the points that they have only then.
  Expr padding_predicate;

  bool ok() const { return errors.empty(); }
};

/// Finds the form of `indices` while `iterators` run through their ranges.
IterMapResult detect_iter_map(std::span<const Expr> indices, std::span<const Iterator> iterators,
                              const IterMapOptions& options, Analyzer& analyzer);

/// `indices` in the simplest form that their digits give where the predicate holds; those that have
/// no such form stay as they are.
std::vector<Expr> iter_map_simplify(std::span<const Expr> indices,
                                    std::span<const Iterator> iterators,
                                    const IterMapOptions& options, Analyzer& analyzer);

/// `index` as a sum of digits of the iterators, of large scales first; what has no such form is in
/// its base.
IterSumExpr normalize_to_iter_sum(const Expr& index, std::span<const Iterator> iterators,
                                  Analyzer& analyzer);

/// The expression that `sum` stands for, without divisions that do nothing. Throws a UserError
/// where its numbers leave 64 bits.
Expr normalize_iter_map_to_expr(const IterSumExpr& sum, DataType dtype, Analyzer& analyzer);

/// What the iterators are where the indices of a map that was detected are `outputs`. Digits that
/// no index tells are 0, and iterators of which none is told are left out. None where windows
/// overlap; throws a UserError where the numbers of indices differ.
Expected<Substitution> inverse_affine_iter_map(std::span<const IterSumExpr> map,
                                               std::span<const Expr> outputs, Analyzer& analyzer);

/// index == outer * inner_extent + inner, where inner runs through [0, inner_extent) and its base.
struct SubspacePart {
  IterSumExpr outer;
  IterSumExpr inner;
  SymbolicInt outer_extent = 1;
  SymbolicInt inner_extent = 1;
};

/// A map divided into what the iterators outside a subspace do and what those inside do.
struct SubspaceDivision {
  std::vector<SubspacePart> parts;  ///< One for each index.
  Expr outer_predicate;
  Expr inner_predicate;
  std::vector<std::string> errors;  ///< Why the map cannot be divided.

  bool ok() const { return errors.empty(); }
};

/// Divides `indices`; the iterators of `inner` are the subspace. Fails where these are not the
/// digits of each index that change fastest, or a condition is about both.
SubspaceDivision subspace_divide(std::span<const Expr> indices, std::span<const Iterator> iterators,
                                 std::span<const Ptr<Var>> inner, const IterMapOptions& options,
                                 Analyzer& analyzer);

}  // namespace loopsmith
