// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/launch_statements.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

TEST(launch_statements, lets_one_thread_run_what_stands_beside_kernels) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2,), "float32")):
    B[0] = A[0]
    B[1] = T.float32(0)
    for i in T.thread_binding(8, thread="threadIdx.x"):
        A[i] = T.float32(1)
    if A[0] > T.float32(0):
        B[0] = A[1]
)");
  EXPECT_TRUE(same(launch_statements(func), parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2,), "float32")):
    for once in T.thread_binding(1, thread="threadIdx.x"):
        B[0] = A[0]
        B[1] = T.float32(0)
    for i in T.thread_binding(8, thread="threadIdx.x"):
        A[i] = T.float32(1)
    for once in T.thread_binding(1, thread="threadIdx.x"):
        if A[0] > T.float32(0):
            B[0] = A[1]
)")));
}

TEST(launch_statements, leaves_loops_without_threads) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        A[i] = T.float32(1)
    for i in range(8):
        B[i] = A[i]
)");
  EXPECT_TRUE(same(launch_statements(func), func));
}

}  // namespace
}  // namespace loopsmith
