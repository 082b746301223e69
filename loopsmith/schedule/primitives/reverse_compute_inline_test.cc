// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace reverse_compute_inline_test {

using namespace schedule_testing;

constexpr std::string_view a_and_c =
    R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32"))";

TEST(reverse_compute_inline, lets_the_producer_do_what_a_block_does) {
  const auto before = two_stages(8, 6);
  Schedule sch(before);
  reverse_compute_inline(sch, get_block(sch, "C"));
  expect_result(sch, before, program(a_and_c, R"(
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = (A[vi, vj] + T.float32(1)) * T.float32(2)
)"));
}

TEST(reverse_compute_inline, an_axis_of_one_value_is_told) {
  const auto before =
      program(R"(A: T.Buffer((8, 4), "float32"), D: T.Buffer((1, 2, 4, 4), "float32"))", R"(
    B = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for n, i, j, k in T.grid(1, 2, 4, 4):
        with T.block("D"):
            vn, vi, vj, vk = T.axis.remap("SSSS", [n, i, j, k])
            D[vn, vi, vj, vk] = B[vi * 4 + vj, vk]
)");
  Schedule sch(before);
  reverse_compute_inline(sch, get_block(sch, "D"));
  EXPECT_EQ(sch.blocks_named(0, "D").size(), 0u);
  expect_result(sch, before);
}

TEST(reverse_compute_inline, guards_what_is_never_read) {
  const auto before =
      program(R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((6, 7), "float32"))", R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for j, i in T.grid(6, 7):
    with T.block("C"):
        vj, vi = T.axis.remap("SS", [j, i])
        C[5 - vj, vi] = B[vi, vj] + B[vi, vj]
)");
  Schedule sch(before);
  reverse_compute_inline(sch, get_block(sch, "C"));
  EXPECT_NE(body_of(sch).find("T.where(i < 7)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(reverse_compute_inline, guards_elements_that_other_instances_read) {
  const auto before =
      program(R"(A: T.Buffer((4, 10), "float32"), C: T.Buffer((10,), "float32"))", R"(
B = T.alloc_buffer((4, 10))
for i, j in T.grid(4, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for j in range(10):
    with T.block("C"):
        vj = T.axis.spatial(10, j)
        C[vj] = B[vj // 3, vj] * T.float32(2)
)");
  Schedule sch(before);
  reverse_compute_inline(sch, get_block(sch, "C"));
  EXPECT_NE(body_of(sch).find("T.where(j // 3 == i)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(reverse_compute_inline, follows_what_was_split) {
  const auto before = two_stages(10, 6);
  Schedule sch(before);
  split(sch, get_loops(sch, get_block(sch, "B"))[0], {infer, 4});
  split(sch, get_loops(sch, get_block(sch, "C"))[1], {infer, 4});
  reverse_compute_inline(sch, get_block(sch, "C"));
  expect_result(sch, before);
}

TEST(reverse_compute_inline, refuses_what_would_change_results) {
  Schedule sch(two_stages(8, 6));
  EXPECT_EQ(
      error_of([&] { reverse_compute_inline(sch, get_block(sch, "B")); }),
      "one_input_is_computed: reverse_compute_inline: block B reads 0 buffers that are computed "
      "in its scope, not one");
  const auto of = [](std::string_view stages) {
    return std::make_unique<Schedule>(program(
        R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
         D: T.Buffer((8,), "float32"))",
        stages));
  };
  const auto two_readers = of(R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = B[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
)");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(*two_readers, get_block(*two_readers, "C")); }),
            "producer_is_alone: reverse_compute_inline: B has no single producer block that is a "
            "complete block that has only a single consumer");
  const auto stencil = of(R"(
B = T.alloc_buffer((9,))
for i in range(9):
    with T.block("B"):
        vi = T.axis.spatial(9, i)
        B[vi] = A[vi % 8]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + B[vi + 1]
)");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(*stencil, get_block(*stencil, "C")); }),
            "reads_one_element: reverse_compute_inline: block C reads B under several indices, or "
            "not by elements");
  const auto broadcast = of(R"(
B = T.alloc_buffer((1,))
for i in range(1):
    with T.block("B"):
        vi = T.axis.spatial(1, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[0]
)");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(*broadcast, get_block(*broadcast, "C")); }),
            "indices_tell_axes: reverse_compute_inline: the indices 0 of B do not tell the axes of "
            "block C");
  const auto part = of(R"(
B = T.alloc_buffer((8,))
for i in range(7):
    with T.block("B"):
        vi = T.axis.spatial(7, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
)");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(*part, get_block(*part, "C")); }),
            "step_keeps_results: reverse_compute_inline: results may change: block B does not "
            "compute each element of B "
            "that block C reads");
  const auto between = of(R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = C[7 - vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
)");
  EXPECT_EQ(error_of([&] { reverse_compute_inline(*between, get_block(*between, "C")); }),
            "step_keeps_results: reverse_compute_inline: results would change: D (i=0) reads "
            "C before C (vi=7) writes it, and would come after that");
}

TEST(reverse_compute_inline, takes_no_loop_into_axes) {
  Schedule sch(program(R"(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"))", R"(
for i in range(4):
    with T.block("C"):
        T.reads(A[1])
        T.writes(C[i])
        C[i] = A[1]
)"));
  blockize(sch, std::vector{get_block(sch, "C")});
  cache_read(sch, get_block(sch, "C"), 0, "local");
  EXPECT_EQ(
      error_of([&] { reverse_compute_inline(sch, get_block(sch, "C")); }),
      "block_uses_axes_alone: reverse_compute_inline: block C uses loop i itself, not through "
      "an axis");
}

}  // namespace reverse_compute_inline_test
}  // namespace loopsmith
