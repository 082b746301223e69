// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/shuffles_in_memory.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// Threads that take what another lane has.
Ptr<PrimFunc> exchange(const std::string& value) {
  return parse_function(R"(@T.prim_func
def main(A: T.Buffer((2, 32), "float32"), B: T.Buffer((2, 32), "float32")):
    for y in T.thread_binding(2, thread="threadIdx.y"):
        for x in T.thread_binding(32, thread="threadIdx.x"):
            B[y, x] = )" +
                        value + "\n");
}

TEST(shuffles_in_memory, gives_before_it_takes) {
  const auto func = exchange("T.tvm_warp_shuffle(T.uint32(1), A[y, x], 3, 8, 32)");
  const std::string text = script(shuffles_in_memory(func));
  EXPECT_EQ(text.find("shuffle"), std::string::npos) << text;
  EXPECT_NE(text.find("given[x + y * 32] = A[y, x]"), std::string::npos) << text;
}

TEST(shuffles_in_memory, keeps_what_the_program_computes) {
  for (const char* value : {"T.tvm_warp_shuffle(T.uint32(1), A[y, x], 3, 8, 32)",
                            "T.tvm_warp_shuffle_up(T.uint32(1), A[y, x], 3, 16, 32) * A[y, x]",
                            "T.tvm_warp_shuffle_down(T.uint32(1), A[y, x], 1, 32, 32) + "
                            "T.tvm_warp_shuffle(T.uint32(1), A[y, x], 0, 32, 32)"}) {
    const auto func = exchange(value);
    const auto lowered = lower_function(func, {.verify = true});
    EXPECT_EQ(script(lowered).find("shuffle"), std::string::npos);
    interp::assert_same(func, lowered);
  }
}

TEST(shuffles_in_memory, leaves_programs_without_shuffles) {
  const auto func = exchange("A[y, x]");
  EXPECT_TRUE(shuffles_in_memory(func).same_as(func));
}

}  // namespace
}  // namespace loopsmith
