// SPDX-License-Identifier: Apache-2.0
// Indices as sums of loop variables and their digits: a fast path of simplification.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "loopsmith/ir/cell_allocator.h"
#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The least and the largest value of a variable.
struct VarRange {
  const Object* var = nullptr;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// One summand: `coefficient * atom`. An atom is a variable, or `inner // by`, or `inner % by`.
struct IndexTerm {
  enum class Kind : std::uint8_t { variable, quotient, remainder };
  Expr atom;
  std::int64_t coefficient = 1;
  Kind kind = Kind::variable;
  bool is_bounded = false;
  std::int64_t min = 0;  ///< Of the atom, if it is bounded.
  std::int64_t max = 0;
  std::int64_t by = 1;

  /// What is divided; the atom of a variable itself.
  const Expr& inner() const {
    if (kind == Kind::variable) return atom;
    return kind == Kind::quotient ? atom.as<FloorDiv>()->a : atom.as<FloorMod>()->a;
  }
};

using IndexTerms = std::vector<IndexTerm, CellAllocator<IndexTerm>>;

/// True when the atom of a term has a variable of which `visit` is true.
bool any_variable(const IndexTerm& term, const std::function<bool(const Object*)>& visit);
/// True when two terms are equal.
bool same_term(const IndexTerm& a, const IndexTerm& b);

/// A sum of terms, none of them twice, and a constant.
struct IndexForm {
  IndexTerms terms;
  std::int64_t constant = 0;

  /// The least and the largest value, where all atoms are bounded.
  std::optional<std::pair<std::int64_t, std::int64_t>> range() const;
};

/// Reads and writes index expressions, with what variables stand for and run through.
class IndexForms {
 public:
  IndexForms() = default;
  explicit IndexForms(std::vector<VarRange> ranges) : ranges_(std::move(ranges)) {}

  /// From here on, a use of `var` means `value`.
  void bind(const Ptr<Var>& var, const Expr& value);
  /// The same if `value` is a sum; false, and nothing, else.
  bool bind_sum(const Ptr<Var>& var, const Expr& value);
  void add_range(const VarRange& range) { ranges_.push_back(range); }
  /// True when a variable is bound.
  bool binds() const { return !bound_.empty(); }
  const std::vector<VarRange>& ranges() const { return ranges_; }

  /// The expression as a sum; nullopt when it is of another kind.
  std::optional<IndexForm> read(const Expr& expr) const;
  /// A sum as an expression.
  Expr write(const IndexForm& form, DataType type) const;

  /// `expr` with the bound variables replaced and digits put together: (io * 8 + ii) // 8 is io.
  /// What it cannot read as a sum is replaced inside, and simplified by an analyzer.
  Expr operator()(const Expr& expr) const;
  /// The same for what may be data, which wraps around: scalars that are no sizes may have any
  /// value.
  Expr value(const Expr& expr) const;
  /// The same for a condition, on data or not; parts that always hold are dropped.
  Expr condition(const Expr& expr) const;
  /// True when an expression, or another node, uses a bound variable.
  bool uses_bound(const Ref& node) const;

 private:
  struct Bound {
    Ptr<Var> var;
    Expr value;
    std::optional<IndexForm> form;
    mutable Expr written;  ///< The form as an expression, when it was needed.
  };
  /// What a variable stands for, without the variables that were bound before.
  const Expr& value_of(const Bound& bound) const;
  bool read_into(IndexForm& sum, const Expr& expr, std::int64_t factor) const;
  /// `expr`, which is `number // by` or `number % by`, of a variable that stays and of which no
  /// more is known; nullopt for others.
  std::optional<IndexTerm> digit_of_variable(const Expr& expr, const Expr& number,
                                             std::int64_t by) const;
  /// The same of a conversion that keeps the value: to a wider type, or of what fits.
  bool read_cast(IndexForm& sum, const Cast& node, std::int64_t factor) const;
  bool add(IndexForm& sum, const IndexForm& other, std::int64_t factor) const;
  bool add_term(IndexForm& sum, IndexTerm term) const;
  bool join_radix_terms(IndexForm& sum, std::size_t i, std::size_t k) const;
  std::optional<IndexForm> quotient(const IndexForm& form, std::int64_t by, DataType type) const;
  std::optional<IndexForm> remainder(const IndexForm& form, std::int64_t by, DataType type) const;
  Expr general(const Expr& expr, bool may_be_data) const;
  /// True when a sum is what it was read from even where that wraps around.
  static bool is_exact(const IndexForm& form);

  std::vector<VarRange> ranges_;
  std::vector<Bound> bound_;
};

/// Forms over the axes of a block that have constant ranges.
IndexForms forms_of_axes(const Block& block);

}  // namespace loopsmith
