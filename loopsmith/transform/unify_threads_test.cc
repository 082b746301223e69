// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/unify_threads.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// The body of the function in the script language, after the pass.
std::string unified(std::string_view text) {
  return script(unify_threads(parse_function(text)));
}

TEST(unify_threads, makes_one_launch_of_loops_over_one_axis) {
  const std::string text = unified(R"(@T.prim_func
def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        S = T.decl_buffer((32,), scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[t] = A[b, t]
        for u in T.thread_binding(16, thread="threadIdx.x"):
            S[u] = S[u] + S[u + 16]
        B[b] = S[0]
)");
  const auto expected = parse_function(R"(@T.prim_func
def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        S = T.decl_buffer((32,), scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[t] = A[b, t]
            if t < 16:
                S[t] = S[t] + S[t + 16]
            if t == 0:
                B[b] = S[0]
)");
  EXPECT_EQ(text, script(expected));
}

TEST(unify_threads, gives_memory_of_blocks_and_threads_its_scope) {
  const std::string text = unified(R"(@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        S = T.decl_buffer((8,))
        for t in T.thread_binding(8, thread="threadIdx.x"):
            L = T.decl_buffer((1,))
            L[0] = A[b, t]
            S[t] = L[0]
)");
  EXPECT_NE(text.find("S = T.decl_buffer((8,), scope=\"shared\")"), std::string::npos) << text;
  EXPECT_NE(text.find("L = T.decl_buffer((1,), scope=\"local\")"), std::string::npos) << text;
}

TEST(unify_threads, fills_memory_of_each_thread_by_each) {
  const std::string text = unified(R"(@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        L = T.decl_buffer((1,), scope="local")
        L[0] = A[b, 0]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            A[b, t] = L[0]
)");
  EXPECT_EQ(text.find("if "), std::string::npos) << text;
}

TEST(unify_threads, moves_memory_into_the_only_kernel_that_uses_it) {
  const std::string text = unified(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    S = T.decl_buffer((8,), scope="shared")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        S[t] = A[t]
)");
  EXPECT_LT(text.find("S = T.decl_buffer"), text.find("T.thread_binding")) << text;
  EXPECT_NE(text.find("for t in T.thread_binding(8"), std::string::npos) << text;
}

TEST(unify_threads, leaves_functions_without_threads_alone) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.parallel(8):
        A[i] = T.float32(1)
)");
  EXPECT_TRUE(unify_threads(func).same_as(func));
}

}  // namespace
}  // namespace loopsmith
