// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_reductions.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// The rows of a matrix, reduced in the loops of `loops`.
Ptr<PrimFunc> rows(const std::string& loops, const std::string& init = "T.float32(0)",
                   const std::string& value = "C[vi] + A[vi, vk]") {
  return parse_function(R"(@T.prim_func
def main(A: T.Buffer((6, 48), "float32"), C: T.Buffer((6,), "float32")):
)" + loops + R"(                    with T.block("C"):
                        vi = T.axis.spatial(6, i)
                        vk = T.axis.reduce(48, k0 * 16 + k1)
                        with T.init():
                            C[vi] = )" +
                        init + R"(
                        C[vi] = )" +
                        value + "\n");
}

constexpr const char* serial_first = R"(    for i in T.thread_binding(6, thread="blockIdx.x"):
            for k0 in range(3):
                for k1 in T.thread_binding(16, thread="threadIdx.x"):
)";

TEST(thread_reductions, combines_halves_in_shared_memory) {
  const auto func = rows(serial_first);
  const auto made = thread_reductions(func);
  const std::string text = script(made);
  // Threads are outside of the loop that each of them does.
  EXPECT_LT(text.find("thread=\"threadIdx.x\""), text.find("for k0 in range(3)")) << text;
  for (const char* half : {"+ 8]", "+ 4]", "+ 2]", "+ 1]"}) {
    EXPECT_NE(text.find(half), std::string::npos) << half << text;
  }
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, lets_lanes_of_a_warp_exchange_their_parts) {
  const auto func = rows(serial_first);
  const std::string text = script(thread_reductions(func, 32));
  EXPECT_NE(text.find("T.tvm_warp_shuffle("), std::string::npos) << text;
  EXPECT_EQ(text.find("C_all"), std::string::npos) << text;
  interp::assert_same(func, lower_function(func, {.warp_size = 32, .verify = true}));
  // Two groups of eight lanes share what each of them has.
  const std::string groups = script(thread_reductions(func, 8));
  EXPECT_NE(groups.find("C_all = T.decl_buffer((2,)"), std::string::npos) << groups;
  interp::assert_same(func, lower_function(func, {.warp_size = 8, .verify = true}));
  // Neither whole warps nor a part of one.
  EXPECT_EQ(script(thread_reductions(func, 5)).find("shuffle"), std::string::npos);
}

TEST(thread_reductions, counts_warps_along_several_axes) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((3, 4, 32), "float32"), C: T.Buffer((3,), "float32")):
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for y in T.thread_binding(4, thread="threadIdx.y"):
            for x in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("C"):
                    vb, vy, vx = T.axis.remap("SRR", [b, y, x])
                    with T.init():
                        C[vb] = T.float32(0)
                    C[vb] = C[vb] + A[vb, vy, vx]
)");
  const std::string text = script(thread_reductions(func, 32));
  EXPECT_NE(text.find("C_all = T.decl_buffer((4,)"), std::string::npos) << text;
  interp::assert_same(func, lower_function(func, {.warp_size = 32, .verify = true}));
  interp::assert_same(func, lower_function(func, {.warp_size = 8, .verify = true}));
}

TEST(thread_reductions, goes_through_memory_where_not_all_threads_come_by) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.y"):
        if i < 3:
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
)");
  EXPECT_EQ(script(thread_reductions(func, 32)).find("shuffle"), std::string::npos);
}

TEST(thread_reductions, begins_with_an_init_that_is_no_neutral_element) {
  const auto func = rows(serial_first, "T.float32(5)");
  EXPECT_NE(script(thread_reductions(func)).find("T.float32(5)"), std::string::npos);
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, takes_extremes) {
  const auto func = rows(serial_first, "T.min_value(\"float32\")", "T.max(C[vi], A[vi, vk])");
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, keeps_groups_of_other_axes_apart) {
  const auto func = rows(R"(    for i in T.thread_binding(6, thread="threadIdx.y"):
            for k0 in range(3):
                for k1 in T.thread_binding(16, thread="threadIdx.x"):
)");
  EXPECT_NE(script(thread_reductions(func)).find("(6, 16)"), std::string::npos);
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, reduces_over_two_axes_of_threads) {
  const auto func = rows(R"(    for i in T.thread_binding(6, thread="blockIdx.x"):
            for k0 in T.thread_binding(3, thread="threadIdx.y"):
                for k1 in T.thread_binding(16, thread="threadIdx.x"):
)");
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, makes_a_launch_of_its_own_without_one_around) {
  const auto func = rows(R"(    for i in range(6):
            for k0 in range(3):
                for k1 in T.thread_binding(16, thread="threadIdx.x"):
)");
  EXPECT_NE(script(thread_reductions(func)).find("T.thread_binding(1, thread=\"blockIdx.x\")"),
            std::string::npos);
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(thread_reductions, reduces_nothing_over_one_block_or_thread) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((20,), "float32"), C: T.Buffer((), "float32")):
    for k0 in T.thread_binding(1, thread="blockIdx.x"):
        for k1 in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                vk = T.axis.reduce(20, k0 * 32 + k1)
                T.where(k0 * 32 + k1 < 20)
                with T.init():
                    C[()] = T.float32(0)
                C[()] = C[()] + A[vk]
)");
  const auto lowered = lower_function(func, {.verify = true});
  EXPECT_EQ(script(lowered).find("_rf"), std::string::npos) << script(lowered);
  interp::assert_same(func, lowered);
}

TEST(thread_reductions, leaves_results_that_depend_on_the_threads) {
  // Each thread has results of its own, two of them for one reduction axis.
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(8, t // 8)
            vk = T.axis.reduce(8, t % 8)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)");
  EXPECT_EQ(script(thread_reductions(func)).find("C_all"), std::string::npos);
}

TEST(thread_reductions, leave_results_that_have_no_terms) {
  // A launch of rows from the fourth on has nothing to do; the axis of a block around says which.
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            for x in T.thread_binding(1, thread="blockIdx.x"):
                for t in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("C"):
                        v = T.axis.spatial(1, x)
                        vk = T.axis.reduce(32, t)
                        T.where(vi * 16 + t < 40)
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + A[vi, vk]
)");
  interp::assert_same(func, thread_reductions(func));
}

}  // namespace
}  // namespace loopsmith
