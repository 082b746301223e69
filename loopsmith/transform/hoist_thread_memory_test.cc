// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_thread_memory.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith {
namespace {

TEST(hoist_thread_memory, gives_each_thread_a_part_of_one_allocation) {
  const auto func = parse_function(R"(@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (32, n), "int32")
    B = T.match_buffer(b, (32, n), "int32")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("rows"):
            v = T.axis.spatial(32, t)
            T.reads(A[v, 0:n])
            T.writes(B[v, 0:n])
            R = T.alloc_buffer((n,), "int32")
            for i in range(n):
                R[n - 1 - i] = A[v, i]
            for i in range(n):
                B[v, i] = R[i]
)");
  const auto lowered = lower_function(func, {.verify = true});
  const std::string text = script(lowered);
  EXPECT_LT(text.find("R = T."), text.find("thread_binding")) << text;
  interp::assert_same(func, lowered);
}

TEST(hoist_thread_memory, leaves_memory_of_constant_size) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((32, 8), "int32"), B: T.Buffer((32, 8), "int32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("rows"):
            v = T.axis.spatial(32, t)
            T.reads(A[v, 0:8])
            T.writes(B[v, 0:8])
            R = T.alloc_buffer((8,), "int32")
            for i in range(8):
                R[7 - i] = A[v, i]
            for i in range(8):
                B[v, i] = R[i]
)");
  const auto flat = run_pass(func, "flatten_buffers");
  EXPECT_TRUE(hoist_thread_memory(flat).same_as(flat)) << script(hoist_thread_memory(flat));
}

TEST(hoist_thread_memory, leaves_memory_whose_pointer_goes_elsewhere) {
  for (const char* pointer :
       {"R.data", "T.call_extern(\"handle\", \"g\", R.data)", "T.Select(t > 3, R.data, R.data)"}) {
    const auto func = parse_function(std::string(R"(@T.prim_func
def main(b: T.handle):
    n = T.int32()
    B = T.match_buffer(b, (32, n), "int32")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        R = T.decl_buffer((n,), "int32")
        T.evaluate(T.call_extern("int32", "f", )") +
                                     pointer + "))\n        B[t, 0] = R[0]\n");
    const auto flat = run_pass(func, "flatten_buffers");
    EXPECT_TRUE(hoist_thread_memory(flat).same_as(flat)) << script(hoist_thread_memory(flat));
  }
}

}  // namespace
}  // namespace loopsmith
