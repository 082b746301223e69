// SPDX-License-Identifier: Apache-2.0
// The parts of an analyzer. Private to this floor.
#pragma once
#include <vector>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {

/// The knowledge of an analyzer and the simplifiers that work on it.
class Engine {
 public:
  Knowledge knowledge;
  /// Variables that were bound to a range with an end that is no constant, in that order.
  std::vector<Ptr<Var>> ranged;
  Simplifier simplifier{knowledge};

  /// The term of an expression; where `begins` a call from outside, old terms may be forgotten
  /// first.
  Term read(const Expr& expr, bool begins = false) {
    if (begins && knowledge.compact()) simplifier.forget();
    return knowledge.terms.read(expr);
  }
  Expr write(Term term) { return knowledge.terms.to_expr(term); }

  void enter(const Expr& condition);
  void leave();

 private:
  void assume(Term condition);
  std::vector<Facts::Mark> scopes_;
};

}  // namespace loopsmith::arith
