// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/prefetch.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

constexpr std::string_view sums = R"(
@T.prim_func
def sums(A: T.Buffer((16, 8)), B: T.Buffer((16,))):
    for i, k in T.grid(16, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)";

TEST(prefetch, asks_for_what_a_later_iteration_reads) {
  Schedule schedule(parse_function(sums, {}));
  const BlockRV block = get_block(schedule, "B");
  const auto loops = get_loops(schedule, block);
  prefetch.apply(schedule, {.block = block, .read_buffer_index = "A", .loop = loops[0]});
  schedule.check_tree();
  const std::string text = script(schedule.func());
  EXPECT_NE(text.find("T.prefetch(A[i + 1, 0:8])"), std::string::npos) << text;
  const auto verdict = interp::compare(schedule.original(), schedule.mod());
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

TEST(prefetch, needs_a_buffer_that_the_block_reads_and_a_loop_around_it) {
  Schedule schedule(parse_function(sums, {}));
  const BlockRV block = get_block(schedule, "B");
  const auto loops = get_loops(schedule, block);
  EXPECT_FALSE(
      prefetch.can_apply(schedule, {.block = block, .read_buffer_index = "X", .loop = loops[0]}));
  EXPECT_TRUE(prefetch.can_apply(
      schedule, {.block = block, .read_buffer_index = "A", .loop = loops[1], .offset = 4}));
}

}  // namespace
}  // namespace loopsmith
