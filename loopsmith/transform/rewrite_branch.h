// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// `body` rewritten where the analyzer knows that `condition` holds, until its end.
Stmt rewrite_under(Rewriter& rewrite, Analyzer& analyzer, const Expr& condition, const Stmt& body);

/// A branch rewritten, each case where the analyzer knows that it is the one.
Stmt rewrite_branch(Rewriter& rewrite, Analyzer& analyzer, const IfThenElse& branch);

}  // namespace loopsmith
