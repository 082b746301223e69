// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/expand_llvm_intrinsics.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

TEST(expand_llvm_intrinsics, leaves_those_that_the_processor_has) {
  const auto func = parse_function(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int16"), B: T.Buffer((8,), "int16"), C: T.Buffer((4,), "int32")):
    C[0:4] = T.call_llvm_pure_intrin("int32x4", "llvm.x86.sse2.pmadd.wd", T.uint32(2), A[0:8], B[0:8])
)");
  const auto expected = parse_function(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int16"), B: T.Buffer((8,), "int16"), C: T.Buffer((4,), "int32")):
    C[0:4] = T.Cast("int32x4", T.Shuffle([A[0:8]], [0, 2, 4, 6])) * T.Cast("int32x4", T.Shuffle([B[0:8]], [0, 2, 4, 6])) + T.Cast("int32x4", T.Shuffle([A[0:8]], [1, 3, 5, 7])) * T.Cast("int32x4", T.Shuffle([B[0:8]], [1, 3, 5, 7]))
)");
  const auto kept = expand_llvm_intrinsics(func, [](auto features) { return features == "+sse2"; });
  EXPECT_EQ(kept.get(), func.get());
  const auto made = expand_llvm_intrinsics(func, [](auto) { return false; });
  EXPECT_FALSE(first_difference(expected->body, made->body, true).has_value());
}

}  // namespace
}  // namespace loopsmith
