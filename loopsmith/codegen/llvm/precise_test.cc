// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::function_of;
using testing::Kernel;

TEST(precise, keeps_an_expression_as_it_is_written) {
  const auto a = decl_buffer({3}, f32, "A");
  const Expr x = load(a, {0}), y = load(a, {1});
  // The rounding error of x + y, which other orders of these sums make zero.
  const Expr sum = x + y;
  const Expr lost = y - (sum - x);
  const auto func = function_of({a}, store(a, call(op("precise"), {lost}), {2}));
  FloatOptions floats;
  floats.reassociate = floats.no_signed_zeros = true;
  std::vector<float> values = {1, 0x1p-30F, 0};
  EXPECT_EQ(Kernel(func, floats).tensor(values).run(), LS_OK);
  EXPECT_EQ(values[2], 0x1p-30F);
}

}  // namespace
}  // namespace loopsmith
