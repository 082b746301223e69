// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loops_of_launches.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

TEST(loops_of_launches, makes_loops_over_threads) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((128,), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    A[bx * 32 + tx] = T.float32(1)
)");
  const std::string text = script(loops_of_launches(func));
  EXPECT_NE(text.find(R"(    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            A[bx * 32 + tx] = T.float32(1))"),
            std::string::npos)
      << text;
  const interp::Verdict verdict = interp::compare(func, lower_function(func, {.verify = true}));
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

TEST(loops_of_launches, launches_of_one_variable_are_loops_of_their_own) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(tx, 64):
        A[tx] = T.float32(1)
    with T.launch_thread(tx, 64):
        B[tx] = A[63 - tx]
)");
  const auto made = loops_of_launches(func);
  EXPECT_EQ(script(made).find("launch_thread"), std::string::npos) << script(made);
  const interp::Verdict verdict = interp::compare(func, lower_function(func, {.verify = true}));
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

TEST(loops_of_launches, virtual_threads_are_loops_that_lowering_takes_away) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    vy = T.launch_thread("vthread", 2)
    vx = T.launch_thread("vthread", 4)
    A[vy * 4 + vx] = T.float32(1)
)");
  const auto lowered = lower_function(func, {.verify = true});
  EXPECT_EQ(script(lowered).find("thread"), std::string::npos) << script(lowered);
  const interp::Verdict verdict = interp::compare(func, lowered);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

}  // namespace
}  // namespace loopsmith
