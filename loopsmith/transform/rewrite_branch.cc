// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/rewrite_branch.h"

#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {

Stmt rewrite_under(Rewriter& rewrite, Analyzer& analyzer, const Expr& condition, const Stmt& body) {
  const ConstraintScope scope = analyzer.constraint_scope(condition);
  rewrite.forget();
  Stmt result = rewrite(body);
  rewrite.forget();
  return result;
}

Stmt rewrite_branch(Rewriter& rewrite, Analyzer& analyzer, const IfThenElse& branch) {
  Edit edit(branch);
  edit.set(&IfThenElse::condition, rewrite(branch.condition));
  const auto rewritten = [&](const Expr& condition, const Stmt& body) {
    return rewrite_under(rewrite, analyzer, condition, body);
  };
  edit.set(&IfThenElse::then_case, rewritten(branch.condition, branch.then_case));
  if (branch.else_case) {
    edit.set(&IfThenElse::else_case, rewritten(!branch.condition, branch.else_case));
  }
  return std::move(edit).done();
}

}  // namespace loopsmith
