// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/same_extent.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith::te {

bool same_extent(const Expr& a, const Expr& b) {
  return a.same_as(b) || is_const_int(a == b, 1);
}

}  // namespace loopsmith::te
