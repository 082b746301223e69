// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/variants.h"

#include <gtest/gtest.h>

#include <string>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith::tune {
namespace {

Ptr<PrimFunc> copy_of_rows() {
  return parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle, b: T.handle):\n"
      "    m = T.int32()\n"
      "    A = T.match_buffer(a, (m,), \"float32\")\n"
      "    B = T.match_buffer(b, (m,), \"float32\")\n"
      "    for i in range(m):\n"
      "        B[i] = A[i]\n");
}

Expr rows_of(const Ptr<PrimFunc>& func) {
  return func->buffer_map.front()->shape.front();
}

TEST(Variants, run_where_their_condition_holds) {
  const Ptr<PrimFunc> func = copy_of_rows();
  const Ptr<PrimFunc> made = with_variants({{func, rows_of(func) < 8}, {func, Expr()}});
  verify_well_formed(made);  // Each has loop variables of its own.
  const std::string text = script(made);
  EXPECT_NE(text.find("if m < 8:"), std::string::npos) << text;
  EXPECT_NE(text.find("else:"), std::string::npos) << text;
}

TEST(Variants, are_of_one_function) {
  const Ptr<PrimFunc> func = copy_of_rows();
  EXPECT_EQ(::loopsmith::testing::refusal(
                [&] { with_variants({{func, rows_of(func) < 8}, {copy_of_rows(), Expr()}}); }),
            "variants_are_of_one_function: with_variants: variant 1 has other parameters than the "
            "first");
}

TEST(Variants, end_with_one_for_the_rest) {
  const Ptr<PrimFunc> func = copy_of_rows();
  EXPECT_EQ(::loopsmith::testing::refusal([&] { with_variants({{func, rows_of(func) < 8}}); }),
            "last_variant_is_for_the_rest: with_variants: variant 0 is the last and has a "
            "condition");
  EXPECT_EQ(::loopsmith::testing::refusal([&] { with_variants({}); }),
            "function_has_variants: with_variants: there is no variant");
}

}  // namespace
}  // namespace loopsmith::tune
