// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/atomics.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

Expr stored_atomically(Op atomic, const Expr& before, const Expr& operand) {
  switch (atomic.index()) {
    case op("atomic_add").index(): return before + operand;
    case op("atomic_min").index(): return min(before, operand);
    case op("atomic_max").index(): return max(before, operand);
    case op("atomic_and").index(): return call(op("bitwise_and"), {before, operand});
    case op("atomic_or").index(): return call(op("bitwise_or"), {before, operand});
    case op("atomic_xor").index(): return call(op("bitwise_xor"), {before, operand});
    default: break;
  }
  check(false, "stored_atomically", "{} is no atomic update", atomic.name());
  return nullptr;
}

}  // namespace loopsmith
