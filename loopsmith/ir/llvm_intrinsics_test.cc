// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/llvm_intrinsics.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

Ptr<Call> calling(DataType dtype, std::vector<Expr> args) {
  return Ptr<Call>::from(call(dtype, op("call_llvm_pure_intrin"), std::move(args)));
}

TEST(llvm_intrinsics, sums_of_products_are_known) {
  const Expr a = var("a", i16.with_lanes(8)), b = var("b", i16.with_lanes(8));
  const auto made =
      calling(i32.with_lanes(4), {string_imm("llvm.x86.sse2.pmadd.wd"), int_imm(u32, 2), a, b});
  const DotIntrinsic* found = find_dot_intrinsic(*made);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->features, "+sse2");
  EXPECT_EQ(to_string(meaning_of(*found, *made)),
            "T.Cast(\"int32x4\", T.Shuffle([a], [0, 2, 4, 6])) * T.Cast(\"int32x4\", "
            "T.Shuffle([b], [0, 2, 4, 6])) + T.Cast(\"int32x4\", T.Shuffle([a], [1, 3, 5, 7])) * "
            "T.Cast(\"int32x4\", T.Shuffle([b], [1, 3, 5, 7]))");
}

TEST(llvm_intrinsics, operands_may_be_of_any_type_of_their_size) {
  const Expr acc = var("acc", i32.with_lanes(4)), words = var("words", i32.with_lanes(4));
  const auto name = string_imm("llvm.x86.avx512.vpdpbusd.128");
  const auto made = calling(i32.with_lanes(4), {name, int_imm(u32, 3), acc, words, words});
  const Expr meaning = meaning_of(*find_dot_intrinsic(*made), *made);
  EXPECT_NE(to_string(meaning).find("T.reinterpret(\"uint8x16\", words)"), std::string::npos);
  EXPECT_NE(to_string(meaning).find("T.reinterpret(\"int8x16\", words)"), std::string::npos);

  const Expr small = var("small", i32);
  const auto misfit = calling(i32.with_lanes(4), {name, int_imm(u32, 3), acc, words, small});
  EXPECT_FALSE(meaning_of(*find_dot_intrinsic(*misfit), *misfit).defined());
  const auto few = calling(i32.with_lanes(4), {name, int_imm(u32, 2), acc, words});
  EXPECT_FALSE(meaning_of(*find_dot_intrinsic(*few), *few).defined());
  const auto other = calling(f64, {string_imm("llvm.maxnum"), int_imm(u32, 2), acc, acc});
  EXPECT_FALSE(find_dot_intrinsic(*other));
}

}  // namespace
}  // namespace loopsmith
