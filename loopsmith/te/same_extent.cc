// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/same_extent.h"

#include "loopsmith/arith/analyzer.h"

namespace loopsmith::te {

bool same_extent(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  const std::int64_t* left = as_int(a);
  const std::int64_t* right = as_int(b);
  if (left && right) return *left == *right;
  return Analyzer().can_prove_equal(a, b);
}

}  // namespace loopsmith::te
