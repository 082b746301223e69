// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reverse_compute_at.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(reverse_compute_at, uses_what_an_iteration_computes) {
  const auto before = two_stages();
  Schedule sch(before);
  reverse_compute_at(sch, get_block(sch, "C"), get_loops(sch, get_block(sch, "B"))[0]);
  expect_result(sch, before,
                program(R"(A: T.Buffer((96, 64), "float32"), C: T.Buffer((96, 64), "float32"))", R"(
B = T.alloc_buffer((96, 64))
for i in range(96):
    for j in range(64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for ax0 in range(64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, ax0])
            C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

TEST(reverse_compute_at, follows_tiles_and_guards) {
  const auto before = two_stages(10, 12);
  Schedule sch(before);
  const auto loops = get_loops(sch, get_block(sch, "B"));
  const auto [i_0, i_1] = split(sch, loops[0], {infer, 4}).take<2>();
  const auto [j_0, j_1] = split(sch, loops[1], {infer, 3}).take<2>();
  reorder(sch, {i_0, j_0, i_1, j_1});
  reverse_compute_at(sch, get_block(sch, "C"), j_0);
  EXPECT_NE(body_of(sch).find("T.where(i_0 * 4 + ax0 < 10)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(reverse_compute_at, follows_reductions_and_symbolic_sizes) {
  const auto before = program(R"(a: T.handle, c: T.handle, n: T.int32)", R"(
A = T.match_buffer(a, (n, 8))
C = T.match_buffer(c, (n,))
B = T.alloc_buffer((n,))
for i, k in T.grid(n, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
for i in range(n):
    with T.block("C"):
        vi = T.axis.spatial(n, i)
        C[vi] = B[vi] * T.float32(2)
)");
  Schedule sch(before);
  const auto loops = get_loops(sch, get_block(sch, "B"));
  Schedule inner = sch.copy();
  EXPECT_EQ(error_of([&] { reverse_compute_at(inner, get_block(inner, "C"), loops[1]); }),
            "step_keeps_results: reverse_compute_at: results would change: C (vi=0) reads "
            "what B (vi=0, vk=7) writes to B, which would not be there yet");
  reverse_compute_at(sch, get_block(sch, "C"), loops[0]);
  expect_result(sch, before);
  Schedule tiled(before);
  const auto parts = split(tiled, get_loops(tiled, get_block(tiled, "B"))[0], {infer, 4});
  reverse_compute_at(tiled, get_block(tiled, "C"), parts[0]);
  expect_result(tiled, before);
}

TEST(reverse_compute_at, splits_reductions_over_their_producers) {
  const auto before = program(R"(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32"))", R"(
B = T.alloc_buffer((4, 6))
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + B[vi, vk]
)");
  for (const std::size_t loop : {0, 1}) {
    Schedule sch(before);
    reverse_compute_at(sch, get_block(sch, "C"), get_loops(sch, get_block(sch, "B"))[loop], false,
                       -2);
    expect_result(sch, before);
  }
}

TEST(reverse_compute_at, refuses_what_would_change_results) {
  const auto stencil = program(R"(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.alloc_buffer((10,))
for i in range(10):
    with T.block("B"):
        vi = T.axis.spatial(10, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + B[9 - vi]
)");
  Schedule sch(stencil);
  const auto c = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { reverse_compute_at(sch, c, get_loops(sch, get_block(sch, "B"))[0]); }),
            "step_keeps_results: reverse_compute_at: results would change: C (vi=1) reads "
            "what B (vi=1) writes to B, which would not be there yet");

  Schedule other(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
         D: T.Buffer((8,), "float32"))",
                         R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + C[7 - vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
)"));
  const auto b = get_loops(other, get_block(other, "B"))[0];
  EXPECT_EQ(error_of([&] { reverse_compute_at(other, get_block(other, "C"), b); }),
            "step_keeps_results: reverse_compute_at: results would change: B (vi=4) reads C "
            "before C (vi=3) writes it, and would come after that");
  EXPECT_EQ(error_of([&] {
              reverse_compute_at(other, get_block(other, "C"),
                                 get_loops(other, get_block(other, "D"))[0]);
            }),
            "producers_are_in_the_loop: reverse_compute_at: Not all required blocks are under the "
            "loop scope: nothing that block C reads is written inside loop i");
}

TEST(reverse_compute_at, refuses_loops_that_do_not_tell_the_instances) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.alloc_buffer((8,))
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(8, i * 2)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
)"));
  EXPECT_NE(error_of([&] {
              reverse_compute_at(sch, get_block(sch, "C"), get_loops(sch, get_block(sch, "B"))[0]);
            }),
            "");
  Schedule none(two_stages());
  EXPECT_EQ(error_of([&] {
              reverse_compute_at(none, get_block(none, "B"),
                                 get_loops(none, get_block(none, "C"))[0]);
            }),
            "producers_are_in_the_loop: reverse_compute_at: Not all required blocks are under the "
            "loop scope: nothing that block B reads is written inside loop i");
}

TEST(reverse_compute_at, refuses_domains_of_loops_that_stay_behind) {
  Schedule sch(program(R"(B: T.Buffer((2,), "int32"), C: T.Buffer((8,), "int32"))", R"(
for i in range(2):
    B[i] = i
for j in range(2):
    with T.block("C"):
        vj = T.axis.spatial(j + 1, 0)
        C[vj] = B[vj]
)"));
  EXPECT_EQ(
      error_of([&] { reverse_compute_at(sch, get_block(sch, "C"), get_loop(sch, "i")); }),
      "instances_are_known: reverse_compute_at: which instances of block C run is not understood, "
      "as the domain of axis vj is one of loop j");
}

TEST(reverse_compute_at, takes_axes_for_digits_of_fused_loops) {
  const auto before =
      program(R"(A: T.Buffer((3, 4, 8), "float32"), D: T.Buffer((3, 4, 8), "float32"))", R"(
B = T.alloc_buffer((3, 4, 8))
C = T.alloc_buffer((3, 4))
for h, i, j in T.grid(3, 4, 8):
    with T.block("B"):
        vh, vi, vj = T.axis.remap("SSS", [h, i, j])
        B[vh, vi, vj] = A[vh, vi, vj] * T.float32(2)
for h, i, j in T.grid(3, 4, 8):
    with T.block("C"):
        vh, vi, vj = T.axis.remap("SSR", [h, i, j])
        with T.init():
            C[vh, vi] = T.float32(0)
        C[vh, vi] = C[vh, vi] + B[vh, vi, vj]
for h, i, j in T.grid(3, 4, 8):
    with T.block("D"):
        vh, vi, vj = T.axis.remap("SSS", [h, i, j])
        D[vh, vi, vj] = B[vh, vi, vj] / C[vh, vi]
)");
  Schedule sch(before);
  const auto loops = get_loops(sch, get_block(sch, "B"));
  const LoopRV rows = fuse(sch, {loops[0], loops[1]});
  reverse_compute_at(sch, get_block(sch, "C"), rows);
  reverse_compute_at(sch, get_block(sch, "D"), rows);
  parallel(sch, rows);
  expect_result(sch, before);
  // In tiles of the fused loop, too.
  Schedule tiled(before);
  const auto again = get_loops(tiled, get_block(tiled, "B"));
  const auto parts = split(tiled, fuse(tiled, {again[0], again[1]}), {infer, 6});
  reverse_compute_at(tiled, get_block(tiled, "C"), parts[1]);
  expect_result(tiled, before);
}

TEST(reverse_compute_at, takes_ragged_tiles_inside_of_fused_loops) {
  for (const int width : {4, 5}) {
    const auto before =
        program(R"(A: T.Buffer((2, 3, 10), "float32"), C: T.Buffer((2, 3, 10), "float32"))", R"(
B = T.alloc_buffer((2, 3, 10))
for b, g, j in T.grid(2, 3, 10):
    with T.block("B"):
        vb, vg, vj = T.axis.remap("SSS", [b, g, j])
        B[vb, vg, vj] = A[vb, vg, vj] * T.float32(2)
for b, g, j in T.grid(2, 3, 10):
    with T.block("C"):
        vb, vg, vj = T.axis.remap("SSS", [b, g, j])
        C[vb, vg, vj] = B[vb, vg, vj] + T.float32(1)
)");
    Schedule sch(before);
    const auto loops = get_loops(sch, get_block(sch, "B"));
    const LoopRV rows = fuse(sch, {loops[0], loops[1]});
    const auto tiles = split(sch, loops[2], {infer, width});
    reverse_compute_at(sch, get_block(sch, "C"), tiles[0]);
    parallel(sch, rows);
    const bool has_guard =
        body_of(sch).find(fmt::format("T.where(j_0 * {} + ax0 < 10)", width)) != std::string::npos;
    EXPECT_EQ(has_guard, width == 4) << body_of(sch);
    expect_result(sch, before);
  }
}

}  // namespace
}  // namespace loopsmith
