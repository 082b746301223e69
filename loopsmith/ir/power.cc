// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/power.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {

Expr power(const Expr& base, const Expr& exponent) {
  auto [x, y] = match_types(base, exponent);
  const std::int64_t* count = as_int(y);
  if (!x.dtype().is_integer() || !count || *count < 0 || *count > 63) {
    return call(op("pow"), {x, y});
  }
  Expr product = const_of(x.dtype(), 1), square = x;
  for (std::int64_t left = *count; left > 0; left /= 2) {
    if (left % 2 == 1) product = product * square;
    if (left > 1) square = square * square;
  }
  return product;
}

}  // namespace loopsmith
