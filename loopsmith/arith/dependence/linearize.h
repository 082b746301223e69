// SPDX-License-Identifier: Apache-2.0
// Expressions as linear forms, conditions as clauses. Private to this folder.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith::dependence {

/// The operands of a binary operation.
struct Operands {
  Expr a, b;
};

/// Those of an operation of type T; nullopt for other expressions.
template <class T>
std::optional<Operands> operands_of(const Expr& expr) {
  const auto* node = expr.as<T>();
  if (!node) return std::nullopt;
  return Operands{node->a, node->b};
}

/// True for `likely(...)`, which is worth its argument.
inline bool is_likely(const Expr& expr) {
  const auto* call = expr.as<Call>();
  return call && call->op == op("likely");
}

/// Makes the symbols of a program while it reads expressions.
class Linearizer {
 public:
  /// `guards` hold wherever an expression is read.
  Linearizer(Program& program, const std::vector<Clause>& guards)
      : program_(program), guards_(guards) {}

  /// From here on, `variable` is this form; nothing: a value that is not linear.
  void bind(const Ptr<Var>& variable, std::optional<Linear> value);
  /// The same of the value of an expression, which may also be a polynomial.
  void bind(const Ptr<Var>& variable, const Expr& value);

  /// The expression as a linear form. Divisions by constants, minima and maxima become symbols;
  /// what is made of sizes alone becomes a parameter.
  std::optional<Linear> linear(const Expr& expr);
  /// Upper bounds of which each holds: more than one for a minimum; those that are not linear are
  /// left out, and `is_exact` becomes false.
  std::vector<Linear> upper_bounds(const Expr& expr, bool& is_exact);
  /// Appends what follows from `condition` having the value `holds`. False when that is less than
  /// the condition says.
  bool add_clauses(const Expr& condition, bool holds, std::vector<Clause>& clauses);

  /// The expression as a polynomial; nullopt when its loops and sizes stand in no such form.
  std::optional<Polynomial> polynomial(const Expr& expr);

  Symbol new_symbol(SymbolInfo info);
  /// The form (an index `base + stride * lane` of a vector) with the lane as a local of `locals`.
  std::optional<Linear> index(const Expr& expr, std::vector<Symbol>& locals);
  /// Any of the `extent` values from a first one on, as a local of `locals`.
  std::optional<Linear> moved_within(const Linear& first, const Expr& extent,
                                     std::vector<Symbol>& locals);
  /// Reads the index of an access; flat ones of symbolic strides as products, too.
  void read_indices(Access& access);

 private:
  /// An index as a polynomial.
  std::optional<Polynomial> index_polynomial(const Expr& expr, std::vector<Symbol>& locals);
  /// From 0 to the last lane of a vector; appended to `locals`.
  Symbol lane_of(const Ramp& ramp, std::vector<Symbol>& locals);
  std::optional<Linear> part(const Expr& expr);
  std::optional<Linear> read(const Expr& expr);
  std::optional<Linear> shift(const Call& call);
  std::optional<Linear> divide(const Linear& dividend, std::int64_t divisor);
  /// True when a value of that form is one of the type.
  bool fits(const Linear& form, DataType type) const;
  /// True when the guards, or the ranges of symbols, say that the form is 0 or more.
  bool is_known(Linear form) const;
  std::optional<Linear> larger(const Linear& a, const Linear& b);
  std::optional<Linear> extreme(const Expr& expr);
  std::optional<Linear> parameter(const Expr& expr);
  bool is_parametric(const Expr& expr) const;
  std::optional<Clause> alternatives(const Expr& condition, bool holds, bool& is_exact);

  std::optional<Polynomial> read_polynomial(const Expr& expr);
  std::optional<Polynomial> stride(const Expr& expr);

  Program& program_;
  const std::vector<Clause>& guards_;
  std::unordered_map<const Object*, std::optional<Linear>> values_;
  std::unordered_map<const Object*, Polynomial> polynomials_;  ///< Of those that are not linear.
  std::unordered_map<Ref, Symbol, StructuralHash, StructuralEqual> parameters_;
  std::vector<Symbol> quotients_, maxima_;
  bool hopeless_ = false;  ///< Something in the expression is neither linear nor made of sizes.
  int nodes_left_ = 0;
};

}  // namespace loopsmith::dependence
