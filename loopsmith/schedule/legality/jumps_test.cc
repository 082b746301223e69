// SPDX-License-Identifier: Apache-2.0
// Steps that would move a statement over a `break`, `continue` or `return`.
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view parameters = R"(F: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32"))";

/// A stage, a loop that may return, a stage that reads the first.
Ptr<PrimFunc> program_with_return() {
  return program(parameters, R"(
B = T.alloc_buffer((5,), "int32")
for i in range(5):
    with T.block("B"):
        vi = T.axis.spatial(5, i)
        B[vi] = F[vi] * 2
for i in range(5):
    if F[i] == 1:
        return
for i in range(5):
    with T.block("C"):
        vi = T.axis.spatial(5, i)
        C[vi] = B[vi] + 1
)");
}

TEST(jumps, what_stands_after_a_return_does_not_move_before_it) {
  Schedule sch(program_with_return());
  const LoopRV first = get_loops(sch, get_block(sch, "B"))[0];
  const BlockRV last = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { reverse_compute_at(sch, last, first); }),
            "step_keeps_results: reverse_compute_at: results may change: which instances of "
            "`C[vi] = B[vi] + 1` run is not known");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(sch, last); }),
            "step_keeps_results: reverse_compute_inline: results may change: which instances of "
            "`C[vi] = B[vi] + 1` run is not known");
}

TEST(jumps, what_stands_before_a_return_stays_there_where_memory_decides_on_the_return) {
  Schedule sch(program_with_return());
  const LoopRV last = get_loops(sch, get_block(sch, "C"))[0];
  EXPECT_EQ(error_of([&] { compute_at(sch, get_block(sch, "B"), last); }),
            "step_keeps_results: compute_at: results may change: whether and where "
            "`C[vi] = B[vi] + 1` accesses B depends on values in memory");
}

/// A loop with a reduction, and what leaves its iterations before that.
Ptr<PrimFunc> reduction_after(std::string_view jump) {
  return program(R"(F: T.Buffer((5,), "int32"), A: T.Buffer((5, 4), "int32"),
         C: T.Buffer((5,), "int32"))",
                 R"(
for i in range(5):
    if F[i] == 1:
        )" + std::string(jump) +
                     R"(
    for k in range(4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
)");
}

TEST(jumps, an_init_does_not_move_before_a_loop_that_is_left) {
  for (const std::string_view jump : {"break", "continue", "return"}) {
    Schedule sch(reduction_after(jump));
    const BlockRV block = get_block(sch, "C");
    const auto loops = get_loops(sch, block);
    EXPECT_FALSE(decompose_reduction.can_apply(sch, {.block = block, .loop = loops[0]})) << jump;
  }
}

TEST(jumps, an_init_moves_before_the_loop_of_its_reduction_in_an_iteration_that_is_left) {
  for (const std::string_view jump : {"break", "continue", "return"}) {
    const auto before = reduction_after(jump);
    Schedule sch(before);
    const BlockRV block = get_block(sch, "C");
    const LoopRV inner = get_loops(sch, block)[1];
    decompose_reduction(sch, block, inner);
    expect_result(sch, before);
  }
}

TEST(jumps, padding_is_not_filled_in_for_iterations_that_do_not_end) {
  for (const std::string_view jump : {"break", "continue", "return"}) {
    Schedule sch(program(R"(F: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32"))", R"(
for i in range(5):
    if F[i] == 1:
        )" + std::string(jump) + R"(
    with T.block("C"):
        vi = T.axis.spatial(5, i)
        C[vi] = T.if_then_else(vi >= 1, F[vi], 0)
)"));
    const BlockRV block = get_block(sch, "C");
    const std::string error =
        error_of([&] { decompose_padding(sch, block, get_loops(sch, block)[0]); });
    EXPECT_TRUE(error.starts_with("step_keeps_results: decompose_padding: results may change: "))
        << error;
  }
}

}  // namespace
}  // namespace loopsmith
