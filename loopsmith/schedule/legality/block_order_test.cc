// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/block_order.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/legality/concurrent_loops_test.h"
#include "loopsmith/schedule/primitives.h"

namespace loopsmith::schedule_testing {
namespace {

/// Each element of a matrix takes twice that across the diagonal, row by row.
Ptr<PrimFunc> across_the_diagonal() {
  return program(R"(A: T.Buffer((7, 5, 5), "int32"))", R"(
for i, j, k in T.grid(7, 5, 5):
    with T.block("A"):
        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
        A[vi, vj, vk] = A[vi, vk, vj] * 2
)");
}

std::string refusal_of_bind(Schedule& sch, LoopRV loop, const char* axis) {
  try {
    bind(sch, loop, axis);
  } catch (const ScheduleError& error) {
    return error.problem();
  }
  return "";
}

constexpr std::string_view conflict =
    "bind: results would change: loop k is bound to blockIdx.y inside of a kernel, whose blocks do "
    "not wait for each other: over A they would conflict";

TEST(block_order, is_none_across_the_loops_of_a_kernel) {
  Schedule sch(across_the_diagonal());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "A")).take<3>();
  bind(sch, i, "blockIdx.x");
  EXPECT_TRUE(refusal_of_bind(sch, k, "blockIdx.y").starts_with(conflict));
  // Threads of a block wait for each other.
  EXPECT_EQ(refusal_of_bind(sch, k, "threadIdx.x"), "");
}

TEST(block_order, is_that_of_launches_where_the_host_runs_the_loops_around) {
  Schedule sch(across_the_diagonal());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "A")).take<3>();
  EXPECT_EQ(refusal_of_bind(sch, k, "blockIdx.y"), "");
  // A loop around would make one kernel of them.
  EXPECT_TRUE(refusal_of_bind(sch, i, "blockIdx.x").starts_with(conflict));
  EXPECT_TRUE(refusal_of_bind(sch, i, "threadIdx.x").starts_with(conflict));
  EXPECT_EQ(sch.get(i).kind, ForKind::serial);
}

TEST(block_order, is_none_between_statements_of_a_kernel) {
  Schedule sch(program(R"(A: T.Buffer((7,), "int32"), B: T.Buffer((7, 5), "int32"))", R"(
for i in range(7):
    for j in range(5):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0
    for k in range(3):
        with T.block("fill"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk + 1] = A[vi]
    for l in range(5):
        with T.block("more"):
            vi, vl = T.axis.remap("SS", [i, l])
            B[vi, vl] = B[vi, vl] + 1
)"));
  const LoopRV i = get_loops(sch, get_block(sch, "zero"))[0];
  bind(sch, i, "threadIdx.x");
  bind(sch, get_loops(sch, get_block(sch, "zero"))[1], "blockIdx.x");
  // The same elements by the same block.
  EXPECT_EQ(refusal_of_bind(sch, get_loops(sch, get_block(sch, "more"))[1], "blockIdx.x"), "");
  const std::string refusal =
      refusal_of_bind(sch, get_loops(sch, get_block(sch, "fill"))[1], "blockIdx.x");
  EXPECT_NE(refusal.find("over B they would conflict"), std::string::npos) << refusal;
}

TEST(block_order, is_none_of_sums_that_are_read_in_the_kernel) {
  const auto func = [](const char* more) {
    return program(
        R"(A: T.Buffer((5,), "int32"), B: T.Buffer((6, 5), "int32"), C: T.Buffer((6,), "int32"))",
        fmt::format(R"(
for i in range(6):
    for j in range(3):
        for k in range(5):
            with T.block("sum"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                C[vi] = C[vi] + A[vk] * vj
        for l in range(5):
            with T.block("more"):
                vi, vj, vl = T.axis.remap("SRS", [i, j, l])
                {}
)",
                    more));
  };
  for (const bool is_read : {false, true}) {
    Schedule sch(func(is_read ? "B[vi, vl] = C[vi]" : "B[vi, vl] = A[vl] + vi"));
    const auto sum = get_loops(sch, get_block(sch, "sum"));
    const auto more = get_loops(sch, get_block(sch, "more"));
    bind(sch, sum[0], "blockIdx.x");
    EXPECT_EQ(refusal_of_bind(sch, sum[2], "blockIdx.y"), "");
    const std::string refusal = refusal_of_bind(sch, more[2], "blockIdx.y");
    EXPECT_EQ(refusal.find("over C they would conflict") != std::string::npos, is_read) << refusal;
  }
}

TEST(block_order, is_kept_by_steps_that_move_statements_into_a_kernel) {
  Schedule sch(program(R"(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6, 8), "int32"))", R"(
B = T.alloc_buffer((6, 8), "int32")
for i, j in T.grid(6, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + 1
for i, j in T.grid(6, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, 7 - vj]
)"));
  const auto b = get_loops(sch, get_block(sch, "B"));
  const auto c = get_loops(sch, get_block(sch, "C"));
  bind(sch, b[1], "blockIdx.x");
  bind(sch, c[1], "blockIdx.x");
  const LoopRV both = merge_siblings(sch, {b[0], c[0]});
  // The host runs the rows, one launch after the other.
  const std::string refusal = refusal_of_bind(sch, both, "threadIdx.x");
  EXPECT_NE(refusal.find("over B they would conflict"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace loopsmith::schedule_testing
