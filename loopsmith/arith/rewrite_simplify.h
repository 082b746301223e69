// SPDX-License-Identifier: Apache-2.0
// Simplification by the tables of rules. Private to this floor.
#pragma once
#include "loopsmith/arith/knowledge.h"
#include "loopsmith/arith/matcher.h"

namespace loopsmith::arith {

/// Rewrites terms, operands first, by the first rule that applies, until none does.
class RewriteSimplifier {
 public:
  explicit RewriteSimplifier(Knowledge& knowledge)
      : knowledge_(knowledge), terms_(knowledge.terms) {}

  Term simplify(Term term);
  /// A term of simplified operands, simplified.
  Term combine(Kind kind, DataType type, Term a, Term b = Term::none, Term c = Term::none);

  /// Records that a condition holds; `undo` with a mark of the facts takes it back.
  void assume(Term condition);

 private:
  Term rewrite(Term term);
  Term rewrite_node(Term term);
  Term rewrite_choice(const TermNode& node);
  Term rewrite_call(Term term);
  Term rewrite_other(Term term);
  Term rewrite_cast(const TermNode& node);
  Term apply_rules(const TermNode& node);
  Term build(const Pattern::Atom* atom, const Binding& binding, DataType type);
  Term decide(Term term);
  Term decide_comparison(const TermNode& node);
  Term at_most(DataType type, Term a, Term b);
  Term negated(Term condition);
  void assume_comparison(const TermNode& node);
  void assume_bound(Term term, const ConstIntBound& bound);
  void assume_truth(Term condition, bool truth);

  Knowledge& knowledge_;
  Terms& terms_;
  Memo<Term> done_;
  int nesting_ = 0;
  std::int64_t steps_left_ = 0;
};

/// The constant that an operation gives for two constants; nothing where it overflows a type that
/// must not, or divides by 0.
std::optional<std::int64_t> fold_constants(Kind kind, DataType operand_type, std::int64_t a,
                                           std::int64_t b);

}  // namespace loopsmith::arith
