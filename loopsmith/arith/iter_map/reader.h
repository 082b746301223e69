// SPDX-License-Identifier: Apache-2.0
// Reads index expressions as sums of digits. Private to iteration maps.
#pragma once
#include <optional>
#include <unordered_map>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map/symbolic_int.h"

namespace loopsmith::arith {

/// What a sum gives divided by a number.
struct Division {
  IterSumExpr quotient;
  IterSumExpr remainder;
};

/// What is known of a sum of digits: it is `mark`, and `first` more.
struct Constraint {
  std::vector<IterSplitExpr> members;  ///< Scaled so that their sum has no common factor.
  std::shared_ptr<const IterMark> mark;
  SymbolicInt first;
};

/// Reads expressions, and makes the marks that their digits come from: equal ones once. Where an
/// expression has no such form, its arithmetic fails, and what is read after that is nothing.
///
/// Sums are kept short: digits of one mark that are neighbours are one, and a division takes out
/// what is divisible, and what a smaller digit cannot change. So indices that split and fuse made
/// come back to what they were made of.
class IterReader {
 public:
  IterReader(std::span<const Iterator> iterators, const IterMapOptions& options,
             Analyzer& analyzer);

  IterSumExpr read(const Expr& expr);
  /// The same, but parts of sums that have no such form are in the base. The large scales first.
  IterSumExpr read_what_is_known(const Expr& expr);

  /// Learns that `predicate` holds; with `skip_unknown`, what is no constraint on digits teaches
  /// nothing, else it fails.
  void constrain(const Expr& predicate, bool skip_unknown);
  const std::vector<Constraint>& constraints() const { return constraints_; }
  /// From here on, divisions are of what was written: to write sums as expressions.
  void forget_constraints() { constraints_.clear(); }
  /// The sum, where what a constraint is about became the constraint's mark.
  IterSumExpr constrained(IterSumExpr sum);

  /// The sum of digits as one digit, whose scale is their smallest.
  IterSplitExpr fuse(std::vector<IterSplitExpr> args);
  Division divide(IterSumExpr dividend, const SymbolicInt& divisor);

  IterSumExpr sum(IterSumExpr a, const IterSumExpr& b, std::int64_t factor = 1);
  IterSumExpr scaled(IterSumExpr sum, const SymbolicInt& factor);
  void add_term(std::vector<IterSplitExpr>& args, IterSplitExpr term);

  /// The marks of the iterators, in order; those that run through one value may have none.
  std::span<const std::shared_ptr<const IterMark>> leaves() const { return leaves_; }
  SymbolicArithmetic& arithmetic() { return arithmetic_; }
  void fail(const char* reason) { arithmetic_.fail(reason); }
  bool failed() const { return arithmetic_.failure() != nullptr; }

 private:
  IterSumExpr unreadable(const char* reason);
  IterSumExpr read_known(const Expr& expr);
  IterSumExpr read_node(const Expr& expr);
  IterSumExpr variable(const Expr& expr);
  IterSumExpr product(const IterSumExpr& a, const IterSumExpr& b);
  IterSumExpr division(const Expr& a, const Expr& b, bool is_remainder, bool rounds_to_zero);
  bool is_free(const Expr& expr) const;
  bool is_never_negative(const IterSumExpr& sum);

  // Divisions: divide.cc.
  void divide_rest(std::vector<IterSplitExpr> rest, const SymbolicInt& offset,
                   const SymbolicInt& divisor, Division& result);
  bool divide_by_factor(std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                        const SymbolicInt& divisor, Division& result);
  bool divide_above_digits(std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                           const SymbolicInt& divisor, Division& result);
  void divide_digit(IterSplitExpr digit, const SymbolicInt& offset, const SymbolicInt& divisor,
                    Division& result);
  bool stays_below(const std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                   const SymbolicInt& divisor);

  // Digits of one mark: digits.cc.
  std::optional<IterSplitExpr> merged(const IterSplitExpr& a, const IterSplitExpr& b);
  std::optional<IterSplitExpr> merged_neighbours(const IterSplitExpr& a, const IterSplitExpr& b);
  std::optional<IterSplitExpr> without_top(const IterSplitExpr& a, const IterSplitExpr& b);
  std::optional<IterSplitExpr> without_bottom(const IterSplitExpr& a, const IterSplitExpr& b);
  void sort(std::vector<IterSplitExpr>& args);
  std::shared_ptr<const IterMark> mark_of(IterMark mark);
  bool same(const IterSplitExpr& a, const IterSplitExpr& b);

  // Constraints: constrain.cc.
  struct Limits;
  bool add_limit(const Expr& comparison, std::vector<Limits>& limits);
  void apply(Limits limits);

  std::span<const Iterator> iterators_;
  /// That iterators have values.
  std::optional<ConstraintScope> has_values_;
  std::vector<std::shared_ptr<const IterMark>> leaves_;
  std::vector<std::shared_ptr<const IterMark>> marks_;
  std::vector<Constraint> constraints_;
  /// What shared nodes were read as, and whether all of it was known.
  std::unordered_map<const Object*, std::pair<IterSumExpr, bool>> shared_;
  bool keeps_unknown_ = false;
  bool is_known_ = true;  ///< All that was read since it was set has the form.
  bool may_overlap_;
  SymbolicArithmetic arithmetic_;
};

/// `sum` as an expression, in which marks are what they are sums of. The reader has no constraints;
/// where its arithmetic fails, the expression is of no use.
Expr to_expr(IterReader& reader, const IterSumExpr& sum, DataType dtype);
/// The value of a mark: `var - min`, or its sum.
Expr source_expr(IterReader& reader, const IterMark& mark, DataType dtype);

}  // namespace loopsmith::arith
