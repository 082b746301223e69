// SPDX-License-Identifier: Apache-2.0
// What is known of integers, and what follows. An analyzer belongs to one thread.
#pragma once
#include <memory>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/arith/int_set.h"
#include "loopsmith/arith/modular_set.h"
#include "loopsmith/ir/expr.h"

namespace loopsmith {

namespace arith {
class Engine;
}

/// How hard `can_prove` tries.
enum class ProofStrength {
  simplify,        ///< Simplification alone.
  symbolic_bound,  ///< Then bounds of the difference in terms of other variables.
};

/// While it lives, its analyzer holds a condition to be true. Scopes end in the reverse order.
class ConstraintScope {
 public:
  ConstraintScope(arith::Engine& engine, const Expr& condition);
  ConstraintScope(ConstraintScope&& other) noexcept;
  ConstraintScope& operator=(ConstraintScope&&) = delete;
  ~ConstraintScope();

 private:
  arith::Engine* engine_;
};

/// Facts about variables, and the questions that they answer.
///
/// int32 and wider signed integers count as unbounded: they are taken never to overflow, but for
/// data. Unsigned and narrower ones wrap. Divisors are taken not to be 0.
class Analyzer {
 public:
  Analyzer();
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  ~Analyzer();

  /// From here on, the variable is this value, or one of this range. A second, different binding is
  /// a bug of the caller, unless `override` says that it is meant.
  void bind(const Ptr<Var>& var, const Expr& value, bool override = false);
  void bind(const Ptr<Var>& var, const Ptr<Range>& range, bool override = false);
  /// The same, for a range that has no node.
  void bind_range(const Ptr<Var>& var, const Expr& min, const Expr& extent, bool override = false);
  /// From here on, the variable lies within `bound`, too; with `override`, only within it.
  void update(const Ptr<Var>& var, const ConstIntBound& bound, bool override = false);
  /// From here on, what is always true of `value` is known of the variable, which is never replaced
  /// by it: for values that may change, or that are to be computed once.
  void learn(const Ptr<Var>& var, const Expr& value);
  /// From here on, the variable is data: not an index, which is taken never to overflow, but any
  /// value of its type, as what a program reads from memory is.
  void mark_data(const Ptr<Var>& var);
  /// Holds `condition` to be true while the scope lives. Conditions on memory, which a statement
  /// may change, teach nothing.
  [[nodiscard]] ConstraintScope constraint_scope(const Expr& condition);

  /// The simplest form known: canonical, then `steps` times by rules and canonical in turn.
  Expr simplify(const Expr& expr, int steps = 2);
  /// Simplified by the tables of rules alone.
  Expr rewrite_simplify(const Expr& expr);
  /// As a sum of products of pieces of digits: (x // 4) * 4 + x % 4 is x.
  Expr canonical_simplify(const Expr& expr);

  /// True when `condition` follows from the facts; false says nothing.
  bool can_prove(const Expr& condition, ProofStrength strength = ProofStrength::simplify);
  bool can_prove_equal(const Expr& a, const Expr& b);
  bool can_prove_less(const Expr& expr, std::int64_t limit);
  bool can_prove_greater_equal(const Expr& expr, std::int64_t limit);

  /// True when `expr` is made of data and may leave its type, or something in it may.
  bool may_overflow(const Expr& expr);

  ConstIntBound const_int_bound(const Expr& expr);
  ModularSet modular_set(const Expr& expr);
  /// A set with all values that `expr` takes while the variables of `domains` run through them.
  IntSet int_set(const Expr& expr, const Domains& domains);

 private:
  bool can_prove_by_ranges(const Expr& condition);

  std::unique_ptr<arith::Engine> engine_;
};

}  // namespace loopsmith
