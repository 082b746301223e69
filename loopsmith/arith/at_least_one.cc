// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/at_least_one.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {

Expr at_least_one(const Expr& extent, Analyzer& analyzer) {
  const Expr one = int_imm(extent.dtype(), 1);
  const bool is_positive = analyzer.can_prove(extent >= one, ProofStrength::symbolic_bound);
  return is_positive ? extent : analyzer.simplify(max(extent, one));
}

}  // namespace loopsmith
