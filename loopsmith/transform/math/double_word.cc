// SPDX-License-Identifier: Apache-2.0
// Error-free sums and products, after Dekker 1971 and Knuth; the product by a fused multiply-add.
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {

DoubleWord fast_two_sum(const Expr& a, const Expr& b) {
  const Expr sum = a + b;
  return {sum, b - (sum - a)};
}

DoubleWord two_sum(const Expr& a, const Expr& b) {
  const Expr sum = a + b;
  const Expr part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

DoubleWord two_product(const Expr& a, const Expr& b) {
  const Expr product = a * b;
  return {product, fma(a, b, -product)};
}

DoubleWord multiply(const DoubleWord& a, const DoubleWord& b) {
  const DoubleWord product = two_product(a.hi, b.hi);
  return {product.hi, product.lo + fma(a.hi, b.lo, a.lo * b.hi)};
}

}  // namespace loopsmith::math
