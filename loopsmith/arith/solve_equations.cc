// SPDX-License-Identifier: Apache-2.0
// Linear equations over the integers, by bringing their matrix to diagonal form (Smith).
#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/arith/linear_row.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using arith::combined;
using arith::LinearRow;
using Vector = std::vector<std::int64_t>;
using Matrix = std::vector<Vector>;

Matrix identity(std::size_t size) {
  Matrix result(size, Vector(size));
  for (std::size_t i = 0; i < size; ++i) result[i][i] = 1;
  return result;
}

/// left * a * right is diagonal, where left and right have inverses over the integers.
class Diagonal {
 public:
  Diagonal(Matrix a, std::size_t columns)
      : a_(std::move(a)),
        columns_(columns),
        left(identity(a_.size())),
        right(identity(columns)),
        right_inverse(identity(columns)) {
    while (rank < std::min(a_.size(), columns_) && move_pivot()) {
      while (!clear_column() || !clear_row()) {
      }
      if (a_[rank][rank] < 0) add_row(rank, rank, -2);
      ++rank;
    }
    for (std::size_t i = rank; i < columns_; ++i) let_grow(i);
  }

  std::int64_t entry(std::size_t i) const { return a_[i][i]; }

 private:
  /// Brings the smallest entry of what is left to its first place; false when all are 0.
  bool move_pivot() {
    std::size_t row = rank;
    std::size_t column = rank;
    for (std::size_t i = rank; i < a_.size(); ++i) {
      for (std::size_t j = rank; j < columns_; ++j) {
        const std::int64_t best = a_[row][column];
        if (a_[i][j] != 0 && (best == 0 || std::abs(a_[i][j]) < std::abs(best))) {
          row = i;
          column = j;
        }
      }
    }
    if (a_[row][column] == 0) return false;
    swap_rows(row, rank);
    swap_columns(column, rank);
    return true;
  }

  /// True when nothing is left in the pivot's column; else the pivot has become smaller.
  bool clear_column() {
    for (std::size_t i = rank + 1; i < a_.size(); ++i) {
      add_row(i, rank, -(a_[i][rank] / a_[rank][rank]));
      if (a_[i][rank] == 0) continue;
      swap_rows(i, rank);
      return false;
    }
    return true;
  }
  bool clear_row() {
    for (std::size_t j = rank + 1; j < columns_; ++j) {
      add_column(j, rank, -(a_[rank][j] / a_[rank][rank]));
      if (a_[rank][j] == 0) continue;
      swap_columns(j, rank);
      return false;
    }
    return true;
  }

  /// Of a column that is 0, makes the first number on the right positive.
  void let_grow(std::size_t column) {
    const auto is_used = [&](const Vector& row) { return row[column] != 0; };
    const auto first = std::ranges::find_if(right, is_used);
    if (first == right.end() || (*first)[column] > 0) return;
    for (Vector& row : right) row[column] = -row[column];
    for (std::int64_t& factor : right_inverse[column]) factor = -factor;
  }

  static void add(Vector& to, const Vector& from, std::int64_t factor) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = combined(1, to[i], factor, from[i]);
  }
  static void add_to_column(Matrix& m, std::size_t to, std::size_t from, std::int64_t factor) {
    for (Vector& row : m) row[to] = combined(1, row[to], factor, row[from]);
  }

  void add_row(std::size_t to, std::size_t from, std::int64_t factor) {
    if (factor == 0) return;
    add(a_[to], Vector(a_[from]), factor);
    add(left[to], Vector(left[from]), factor);
  }
  void add_column(std::size_t to, std::size_t from, std::int64_t factor) {
    if (factor == 0) return;
    add_to_column(a_, to, from, factor);
    add_to_column(right, to, from, factor);
    add(right_inverse[from], right_inverse[to], -factor);
  }
  void swap_rows(std::size_t i, std::size_t j) {
    std::swap(a_[i], a_[j]);
    std::swap(left[i], left[j]);
  }
  void swap_columns(std::size_t i, std::size_t j) {
    for (Vector& row : a_) std::swap(row[i], row[j]);
    for (Vector& row : right) std::swap(row[i], row[j]);
    std::swap(right_inverse[i], right_inverse[j]);
  }

  Matrix a_;
  std::size_t columns_;

 public:
  std::size_t rank = 0;  ///< So many entries of the diagonal are not 0; these are positive.
  Matrix left;
  Matrix right;
  Matrix right_inverse;
};

/// The sum of factors times expressions.
template <class Terms>
Expr dot(const Vector& factors, const Terms& terms, DataType type) {
  Expr result = zero_of(type);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] != 0) result = result + cast(type, terms[i]) * int_imm(type, factors[i]);
  }
  return result;
}

DataType type_of(const std::vector<Ptr<Var>>& variables) {
  DataType type = i32;
  for (const Ptr<Var>& variable : variables) {
    type = type.with_bits(std::max(type.bits, variable->dtype.bits));
  }
  return type;
}

class EquationSolver {
 public:
  explicit EquationSolver(const IntConstraints& system)
      : system_(system), type_(type_of(system.variables)) {}

  IntConstraintsTransform operator()() {
    IntConstraintsTransform result;
    result.src = system_;
    Matrix matrix;
    std::vector<Expr> constants;  // What each row of the matrix has to be.
    std::vector<Expr> others;
    for (const Expr& relation : system_.relations) {
      auto row = arith::linear_row(relation, system_.variables);
      if (row && row->is_equality) {
        matrix.push_back(std::move(row->coefficients));
        constants.push_back(zero_of(row->base.dtype()) - row->base);
      } else {
        others.push_back(relation);
      }
    }
    const Diagonal diagonal(std::move(matrix), system_.variables.size());
    choose_coordinates(diagonal, constants, result);
    for (std::size_t i = 0; i < system_.variables.size(); ++i) {
      const Expr value = dot(diagonal.right[i], coordinates_, type_);
      const Ptr<Var>& variable = system_.variables[i];
      result.src_to_dst[variable] = analyzer_.simplify(cast(variable->dtype, value));
    }
    bound(result);
    for (const Expr& relation : others) keep(substitute(relation, result.src_to_dst), result);
    if (!is_solvable_) {
      result.dst = {{}, {}, {false}};
      result.src_to_dst.clear();
      result.dst_to_src.clear();
    }
    return result;
  }

 private:
  /// The variables in the coordinates of the diagonal: the first are determined, the others new.
  void choose_coordinates(const Diagonal& diagonal, const std::vector<Expr>& constants,
                          IntConstraintsTransform& result) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const Expr constant = analyzer_.simplify(dot(diagonal.left[i], constants, type_));
      if (i >= diagonal.rank) {
        keep(constant == zero_of(type_), result);
        continue;
      }
      const Expr divisor = int_imm(type_, diagonal.entry(i));
      keep(floormod(constant, divisor) == zero_of(type_), result);
      coordinates_.push_back(analyzer_.simplify(floordiv(constant, divisor)));
    }
    for (std::size_t i = diagonal.rank; i < system_.variables.size(); ++i) {
      const Ptr<Var> fresh = var(fmt::format("n{}", i - diagonal.rank), type_);
      coordinates_.emplace_back(fresh);
      result.dst.variables.push_back(fresh);
      result.dst_to_src[fresh] =
          analyzer_.simplify(dot(diagonal.right_inverse[i], system_.variables, type_));
    }
  }

  /// Bounds the new variables by the ranges of the old ones, and keeps what these say beyond that.
  void bound(IntConstraintsTransform& result) {
    Domains domains;
    for (std::size_t i = 0; i < system_.variables.size(); ++i) {
      const Ptr<Range> range = arith::range_of(system_, i);
      domains[system_.variables[i]] = range ? IntSet::from_range(range) : IntSet();
    }
    for (const Ptr<Var>& fresh : result.dst.variables) {
      const IntSet values = analyzer_.int_set(result.dst_to_src[fresh], domains);
      Ptr<Range> range;
      if (values.has_lower_bound() && values.has_upper_bound()) {
        const Expr extent = values.max_value() - values.min_value() + const_of(type_, 1);
        range = loopsmith::range(values.min_value(), analyzer_.simplify(extent));
        analyzer_.bind(fresh, range);
      }
      result.dst.ranges.push_back(range);
    }
    for (std::size_t i = 0; i < system_.variables.size(); ++i) {
      const Ptr<Range> range = arith::range_of(system_, i);
      if (!range) continue;
      const Expr value = result.src_to_dst[system_.variables[i]];
      for (const Expr& relation : arith::relations_of(value, *range)) keep(relation, result);
    }
  }

  /// Adds a relation, unless it is known to hold; one that never holds ends it all.
  void keep(const Expr& relation, IntConstraintsTransform& result) {
    const Expr simple = analyzer_.simplify(relation);
    if (is_const_int(simple, 1)) return;
    if (is_const_int(simple, 0)) is_solvable_ = false;
    result.dst.relations.push_back(simple);
  }

  const IntConstraints& system_;
  DataType type_;
  Analyzer analyzer_;
  std::vector<Expr> coordinates_;
  bool is_solvable_ = true;
};

}  // namespace

IntConstraintsTransform solve_linear_equations(const IntConstraints& system) {
  return EquationSolver(system)();
}

}  // namespace loopsmith
