// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/compute_inline.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view inputs_a_and_c =
    R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32"))";

TEST(compute_inline, computes_a_stage_where_it_is_read) {
  const auto before = two_stages(8, 6);
  Schedule sch(before);
  compute_inline(sch, get_block(sch, "B"));
  expect_result(sch, before, program(inputs_a_and_c, R"(
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = (A[vi, vj] + T.float32(1)) * T.float32(2)
)"));
}

TEST(compute_inline, solves_indices_for_axes_and_serves_several_readers) {
  const auto before = program(inputs_a_and_c, R"(
B = T.alloc_buffer((6, 9))
D = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vj, vi + 1] = A[vi, vj] * A[vi, vj]
for i, j in T.grid(8, 6):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = B[vj, vi + 1] + B[5 - vj, 8 - vi]
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = D[vi, vj] + B[vj, vi + 1]
)");
  Schedule sch(before);
  compute_inline(sch, get_block(sch, "B"));
  expect_result(sch, before);
  compute_inline(sch, get_block(sch, "D"));
  expect_result(sch, before);
}

TEST(compute_inline, reaches_readers_outside_and_inside_of_blocks) {
  const auto before = program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        x: T.float32 = A[vi, vj] + T.float32(1)
        B[vi, vj] = x * x
for i in range(8):
    with T.block("rows"):
        vi = T.axis.spatial(8, i)
        for j in range(3):
            with T.block("left"):
                vj = T.axis.spatial(3, j)
                C[vi, vj] = B[vi, vj]
for i in range(8):
    for j in range(3):
        C[i, j + 3] = B[i, j + 3] + T.float32(1)
)");
  Schedule sch(before);
  const auto left = get_block(sch, "left");
  compute_inline(sch, get_block(sch, "B"));
  expect_result(sch, before);
  EXPECT_EQ(sch.get(left).reads[0]->buffer->name, "A");
}

TEST(compute_inline, follows_digits_of_axes) {
  const auto before = program(inputs_a_and_c, R"(
B = T.alloc_buffer((2, 24))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi // 4, vi % 4 * 6 + vj] = A[vi, vj] + T.float32(1)
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi // 4, vi % 4 * 6 + vj]
)");
  Schedule sch(before);
  compute_inline(sch, get_block(sch, "B"));
  EXPECT_NE(body_of(sch).find("C[vi, vj] = A[vi, vj] + T.float32(1)"), std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
  EXPECT_EQ(sch.blocks_named(0, "B").size(), 0u);
}

TEST(compute_inline, keeps_the_conditions_of_what_is_computed) {
  const auto before = program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(10, 6):
    with T.block("B"):
        T.where(i < 7)
        vi = T.axis.spatial(8, i)
        vj = T.axis.spatial(6, j)
        B[vi, vj] = A[vi, vj]
for i, j in T.grid(7, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
)");
  Schedule sch(before);
  compute_inline(sch, get_block(sch, "B"));
  expect_result(sch, before);
}

TEST(compute_inline, refuses_what_would_change_results) {
  Schedule output(two_stages(8, 6));
  EXPECT_EQ(error_of([&] { compute_inline(output, get_block(output, "C")); }),
            "block_is_no_output: compute_inline: block C is an output block of its scope");
  EXPECT_EQ(
      error_of([&] { compute_inline(output, get_block(output, "root")); }),
      "block_is_not_root: compute_inline: the primitive does not operate on the root block root");

  Schedule overwritten(program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
for i, j in T.grid(8, 6):
    with T.block("W"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[vi, vj] = T.float32(0)
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
)"));
  EXPECT_EQ(error_of([&] { compute_inline(overwritten, get_block(overwritten, "B")); }),
            "step_keeps_results: compute_inline: results would change: B (vi=7, vj=5) reads "
            "A before W (i=7, j=5) writes it, and would come after that");

  Schedule part(program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(7, 6):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        vj = T.axis.spatial(6, j)
        B[vi, vj] = A[vi, vj]
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
)"));
  EXPECT_EQ(error_of([&] { compute_inline(part, get_block(part, "B")); }),
            "step_keeps_results: compute_inline: results may change: block B does not write all of "
            "B that is read");

  Schedule several(program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
)"));
  EXPECT_EQ(
      error_of([&] { compute_inline(several, get_block(several, "B")); }),
      "body_is_one_store: compute_inline: block B does not store one value of one buffer, and "
      "nothing else");
  EXPECT_EQ(several.steps().size(), 1u);

  Schedule reduction(program(inputs_a_and_c, R"(
B = T.alloc_buffer((8,))
for i, k in T.grid(8, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi]
)"));
  EXPECT_EQ(error_of([&] { compute_inline(reduction, get_block(reduction, "B")); }),
            "block_is_complete: compute_inline: block B is not a complete block - it violates "
            "condition #1");
}

TEST(compute_inline, keeps_writers_of_what_a_reduction_goes_on_with) {
  // The reduction reads B, though it does not say so.
  Schedule sch(program(R"((C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((), "int32")
    for i in range(2):
        with T.block("sum"):
            vi = T.axis.reduce(2, i)
            T.reads()
            T.writes(B[()], C[0])
            with T.init():
                B[()] = 0
            B[()] = B[()] + 1
            C[0] = B[()]
        with T.block("reset"):
            B[()] = 0
)"));
  EXPECT_TRUE(error_of([&] { compute_inline(sch, get_block(sch, "reset")); })
                  .starts_with("block_is_complete: compute_inline: block reset is not a complete "
                               "block"));
}

TEST(compute_inline, renews_regions_that_indices_in_memory_say) {
  const auto before =
      program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32"))", R"(
for i, j in T.grid(8, 4):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, 3 - vj] + A[vi // 2 + vj // 3, vj]
)");
  Schedule sch(before);
  const auto indices = cache_index(sch, get_block(sch, "C"), "local");
  for (const BlockRV index : indices) compute_inline(sch, index);
  expect_result(sch, before);
}

TEST(compute_inline, keeps_the_handles_of_readers_without_axes) {
  Schedule sch(program(inputs_a_and_c, R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
with T.block("outer"):
    T.reads(B[0:8, 0:6])
    T.writes(C[0:8, 0:6])
    with T.block("inner"):
        T.reads(B[0:8, 0:6])
        T.writes(C[0:8, 0:6])
        for i, j in T.grid(8, 6):
            C[i, j] = B[i, j]
)"));
  const BlockRV outer = get_block(sch, "outer"), inner = get_block(sch, "inner");
  compute_inline(sch, get_block(sch, "B"));
  EXPECT_EQ(sch.get(outer).name_hint, "outer");
  EXPECT_EQ(sch.get(inner).name_hint, "inner");
  EXPECT_EQ(body_of(sch).find("B["), std::string::npos) << body_of(sch);
}

}  // namespace
}  // namespace loopsmith
