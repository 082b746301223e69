// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/dot_product_packing.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

/// What becomes of sum(A[i, k] * B[k, j]) in `sums`.
std::optional<Nest> paired_product(DataType a_type, DataType b_type, const Expr& depth,
                                   DataType sums = i32) {
  const te::Tensor a = te::placeholder({8, depth}, a_type, "A");
  const te::Tensor b = te::placeholder({depth, 32}, b_type, "B");
  const te::IterVar k = te::reduce_axis(0, depth, "k");
  const te::Tensor c = te::compute(
      {8, 32},
      [&](const Expr& i, const Expr& j) {
        return te::sum(cast(sums, a(i, k)) * cast(sums, b(k, j)), {k});
      },
      "C");
  const auto func = te::create_prim_func({a, b, c});
  const Nest nest = nests_of(func->body.as<BlockRealize>()->block->body)[0];
  return with_pairs(nest, *contiguous_axis(nest));
}

TEST(dot_product, halve_the_steps_of_small_integers) {
  for (const DataType type : {i8, u8, i16}) {
    const auto paired = paired_product(type, i8, 64);
    ASSERT_TRUE(paired);
    EXPECT_TRUE(is_const_int(paired->reduction()[0].extent, 32));
    EXPECT_EQ(script(paired->body).find("Select"), std::string::npos);
  }
}

TEST(dot_product, end_with_a_zero_where_steps_are_odd) {
  const auto odd = paired_product(i8, i8, 65);
  ASSERT_TRUE(odd);
  EXPECT_TRUE(is_const_int(odd->reduction()[0].extent, 33));
  EXPECT_NE(script(odd->body).find("T.Select(v_k_2 * 2 + 1 < 65"), std::string::npos)
      << script(odd->body);
  EXPECT_TRUE(paired_product(i8, i8, size_var("n")));
}

TEST(dot_product, leave_other_products_alone) {
  EXPECT_FALSE(paired_product(u16, i8, 64));
  EXPECT_FALSE(paired_product(i32, i8, 64));
  EXPECT_FALSE(paired_product(i8, i8, 64, f32));
  EXPECT_FALSE(paired_product(i8, i8, 64, i64));
  EXPECT_FALSE(paired_product(i8, i8, 1));
}

}  // namespace
}  // namespace loopsmith
