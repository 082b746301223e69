// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/inject_virtual_threads.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/simplify.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

std::string body_of(const Ptr<PrimFunc>& func) {
  const std::string text = script(simplify(inject_virtual_threads(func)));
  return text.substr(text.find("):\n") + 3) + "\n";
}

void expect_threads_as_before(const Ptr<PrimFunc>& func) {
  for (const auto& after : {inject_virtual_threads(func), lower_function(func, {.verify = true})}) {
    const interp::Verdict verdict = interp::compare(func, after);
    EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(after);
  }
}

TEST(inject_virtual_threads, runs_statements_side_by_side) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for v in T.thread_binding(2, thread="vthread.x"):
        B = T.decl_buffer((1,), "float32")
        for k in range(8):
            B[0] = A[v * 8 + k]
            C[v * 8 + k] = B[0] * T.float32(2)
)");
  EXPECT_EQ(body_of(func), R"(    B = T.decl_buffer((2, 1))
    for k in range(8):
        B[0, 0] = A[k]
        B[1, 0] = A[k + 8]
        C[k] = B[0, 0] * T.float32(2)
        C[k + 8] = B[1, 0] * T.float32(2)
)");
  expect_threads_as_before(func);
}

TEST(inject_virtual_threads, aligns_the_dimensions_that_were_meant) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((2, 4, 6), "float32"), C: T.Buffer((2, 4, 6), "float32")):
    for v in T.thread_binding(2, thread="vthread.x"):
        with T.block("both"):
            vv = T.axis.spatial(2, v)
            B = T.alloc_buffer((4, 6), scope="local")
            for i, j in T.grid(4, 6):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.block_attr({"buffer_dim_align": [[0, 0, 8, 2]]})
                    B[vi, vj] = A[vv, vi, vj]
            for i, j in T.grid(4, 6):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vv, vi, vj] = B[3 - vi, vj]
)");
  const std::string text = script(lower_function(func, {.verify = true}));
  EXPECT_NE(text.find("= i * 10 + j"), std::string::npos) << text;
  expect_threads_as_before(func);
}

TEST(inject_virtual_threads, keeps_conditions_of_threads_and_shares_others) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), n: T.int32):
    for v in T.thread_binding(2, thread="vthread"):
        for k in range(8):
            if k < n:
                if v * 8 + k < 13:
                    C[v * 8 + k] = A[v * 8 + k]
)");
  const std::string text = body_of(func);
  EXPECT_NE(text.find(R"(        if k < n:
            C[k] = A[k]
            if k < 5:
                C[k + 8] = A[k + 8]
)"),
            std::string::npos)
      << text;
  expect_threads_as_before(func);
}

TEST(inject_virtual_threads, nests_and_loops_over_many) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((2, 20, 4), "float32"), C: T.Buffer((2, 20, 4), "float32")):
    for x in T.thread_binding(2, thread="vthread.x"):
        for y in T.thread_binding(20, thread="vthread.y"):
            for k in range(4):
                C[x, y, k] = A[x, y, 3 - k]
)");
  const std::string text = body_of(func);
  EXPECT_EQ(text.substr(0, text.find('\n')), "    for k, y in T.grid(4, 20):") << text;
  EXPECT_EQ(text.find("thread"), std::string::npos) << text;
  expect_threads_as_before(func);
}

TEST(inject_virtual_threads, runs_dependent_threads_one_after_another) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((17,), "float32")):
    for v in T.thread_binding(2, thread="vthread.x"):
        for k in range(8):
            A[v * 8 + k + 1] = A[v * 8 + k]
)");
  EXPECT_EQ(body_of(func), R"(    for v, k in T.grid(2, 8):
        A[v * 8 + k + 1] = A[v * 8 + k]
)");
}

}  // namespace
}  // namespace loopsmith
