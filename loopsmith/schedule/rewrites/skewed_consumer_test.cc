// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/skewed_consumer.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// B = 2 A, then `value` of B as C, of `size` elements each.
Ptr<PrimFunc> line(int size, int result, std::string_view value) {
  return program(fmt::format(R"(A: T.Buffer(({0},), "float32"), C: T.Buffer(({1},), "float32"))",
                             size, result),
                 fmt::format(R"(
B = T.alloc_buffer(({0},))
for i in range({0}):
    with T.block("B"):
        vi = T.axis.spatial({0}, i)
        B[vi] = A[vi] * T.float32(2)
for i in range({1}):
    with T.block("C"):
        vi = T.axis.spatial({1}, i)
        C[vi] = {2}
)",
                             size, result, value));
}

/// Blurs by columns, then by rows, with a copied border.
Ptr<PrimFunc> rows_and_columns() {
  return program(R"(A: T.Buffer((14, 11), "float32"), D: T.Buffer((14, 11), "float32"))", R"(
B = T.alloc_buffer((14, 11))
C = T.alloc_buffer((14, 11))
for i, j in T.grid(14, 11):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * T.float32(2)
for i, j in T.grid(14, 11):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[T.max(vi - 1, 0), vj] + B[vi, vj] + B[T.min(vi + 1, 13), vj]
for i, j in T.grid(14, 11):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, T.max(vj - 1, 0)] + C[T.min(vi + 1, 13), T.min(vj + 2, 10)]
)");
}

LoopRV loop_of(Schedule& sch, std::string_view block, std::size_t number) {
  return get_loops(sch, get_block(sch, std::string(block)))[number];
}

TEST(skewed_consumer, lags_behind_what_is_computed) {
  const auto before = line(10, 8, "B[vi] + B[vi + 2]");
  Schedule sch(before);
  reverse_compute_at(sch, get_block(sch, "C"), loop_of(sch, "B", 0));
  expect_result(sch, before,
                program(R"(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.alloc_buffer((10,))
for i in range(10):
    with T.block("B"):
        vi = T.axis.spatial(10, i)
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vi = T.axis.spatial(8, i - 2)
        T.where(i - 2 >= 0)
        C[vi] = B[vi] + B[vi + 2]
)"));
}

TEST(skewed_consumer, goes_on_when_the_producer_is_done) {
  const auto before = line(10, 10, "B[T.max(vi - 1, 0)] + B[T.min(vi + 1, 9)]");
  Schedule sch(before);
  reverse_compute_at(sch, get_block(sch, "C"), loop_of(sch, "B", 0));
  expect_result(sch, before,
                program(R"(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32"))", R"(
B = T.alloc_buffer((10,))
for i in range(11):
    with T.block("B"):
        vi = T.axis.spatial(10, i)
        T.where(i < 10)
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vi = T.axis.spatial(10, i - 1)
        T.where(i - 1 >= 0)
        C[vi] = B[T.max(vi - 1, 0)] + B[T.min(vi + 1, 9)]
)"));
}

TEST(skewed_consumer, lags_in_tiles) {
  for (const int factor : {2, 3, 4, 8}) {
    const auto before = line(19, 19, "B[T.max(vi - 2, 0)] + B[T.min(vi + 3, 18)]");
    Schedule sch(before);
    const auto tiles = split(sch, loop_of(sch, "B", 0), {infer, factor});
    for (const std::size_t at : {0, 1}) {
      Schedule other = sch.copy();
      reverse_compute_at(other, get_block(other, "C"), tiles[at]);
      expect_result(other, before);
    }
  }
}

TEST(skewed_consumer, reads_coarser_and_finer_grids) {
  const auto halved = line(16, 8, "B[vi * 2] + B[T.min(vi * 2 + 3, 15)]");
  Schedule sch(halved);
  reverse_compute_at(sch, get_block(sch, "C"), split(sch, loop_of(sch, "B", 0), {infer, 4})[0]);
  expect_result(sch, halved);

  const auto doubled = line(8, 16, "B[vi // 2] + B[T.min((vi + 1) // 2, 7)]");
  Schedule fine(doubled);
  reverse_compute_at(fine, get_block(fine, "C"), split(fine, loop_of(fine, "B", 0), {infer, 2})[0]);
  expect_result(fine, doubled);

  Schedule odd(halved);
  EXPECT_EQ(error_of([&] { reverse_compute_at(odd, get_block(odd, "C"), loop_of(odd, "B", 0)); }),
            "step_keeps_results: reverse_compute_at: results would change: C (vi=1) reads "
            "what B (vi=2) writes to B, which would not be there yet");
}

TEST(skewed_consumer, follows_one_stage_after_another) {
  const auto before = rows_and_columns();
  for (const std::size_t at : {0, 1}) {
    Schedule sch(before);
    reverse_compute_at(sch, get_block(sch, "C"), loop_of(sch, "B", at));
    const auto loops = get_loops(sch, get_block(sch, "C"));
    reverse_compute_at(sch, get_block(sch, "D"), loops[at]);
    expect_result(sch, before);
  }
}

TEST(skewed_consumer, lags_in_tiles_of_two_dimensions) {
  const auto before = rows_and_columns();
  Schedule sch(before);
  compute_inline(sch, get_block(sch, "B"));
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto rows = split(sch, loops[0], {infer, 4});
  const auto columns = split(sch, loops[1], {infer, 3});
  reorder(sch, {rows[0], columns[0], rows[1], columns[1]});
  for (const LoopRV loop : {rows[0], columns[0], rows[1], columns[1]}) {
    Schedule other = sch.copy();
    reverse_compute_at(other, get_block(other, "D"), loop);
    expect_result(other, before);
  }
}

TEST(skewed_consumer, takes_sizes_that_are_not_known) {
  const auto before = program(R"(a: T.handle, c: T.handle, n: T.int32)", R"(
A = T.match_buffer(a, (n, 8))
C = T.match_buffer(c, (n, 6))
B = T.alloc_buffer((n, 8))
for i, j in T.grid(n, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * T.float32(2)
for i, j in T.grid(n, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj + 2] + B[T.min(vi + 1, n - 1), vj]
)");
  for (const std::size_t at : {0, 1}) {
    Schedule sch(before);
    reverse_compute_at(sch, get_block(sch, "C"), loop_of(sch, "B", at));
    expect_result(sch, before);
  }
  Schedule tiled(before);
  const auto tiles = split(tiled, loop_of(tiled, "B", 0), {infer, 4});
  reverse_compute_at(tiled, get_block(tiled, "C"), tiles[0]);
  expect_result(tiled, before);
}

TEST(skewed_consumer, waits_for_windows_of_reductions) {
  const auto before = program(R"(A: T.Buffer((12,), "float32"), C: T.Buffer((10,), "float32"))", R"(
B = T.alloc_buffer((12,))
for i in range(12):
    with T.block("B"):
        vi = T.axis.spatial(12, i)
        B[vi] = A[vi] * T.float32(2)
for i, k in T.grid(10, 3):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + B[vi + vk]
)");
  Schedule sch(before);
  reverse_compute_at(sch, get_block(sch, "C"), split(sch, loop_of(sch, "B", 0), {infer, 4})[0]);
  expect_result(sch, before);
}

TEST(skewed_consumer, waits_for_the_last_of_other_axes) {
  const auto before =
      program(R"(A: T.Buffer((20,), "float32"), U: T.Buffer((16, 5), "float32"))", R"(
B = T.alloc_buffer((20,))
for i in range(20):
    with T.block("B"):
        vi = T.axis.spatial(20, i)
        B[vi] = A[vi] * T.float32(2)
for i, k in T.grid(16, 5):
    with T.block("U"):
        vi, vk = T.axis.remap("SS", [i, k])
        U[vi, vk] = B[vi + vk]
)");
  Schedule sch(before);
  reverse_compute_at(sch, get_block(sch, "U"), loop_of(sch, "B", 0));
  EXPECT_NE(body_of(sch).find("vi = T.axis.spatial(16, i - 4)"), std::string::npos) << body_of(sch);
  rolling_buffer(sch, get_block(sch, "B"), 0);
  expect_result(sch, before);
}

TEST(skewed_consumer, is_no_place_for_what_is_not_read) {
  const auto before =
      program(R"(A: T.Buffer((10,), "float32"), U: T.Buffer((7, 2), "float32"))", R"(
B = T.alloc_buffer((10,))
C = T.alloc_buffer((8,))
for i in range(10):
    with T.block("B"):
        vi = T.axis.spatial(10, i)
        B[vi] = A[vi] * T.float32(2)
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + B[vi + 2]
for i, k in T.grid(7, 2):
    with T.block("U"):
        vi, vk = T.axis.remap("SS", [i, k])
        U[vi, vk] = C[vi + vk]
)");
  Schedule sch(before);
  const auto rows = loop_of(sch, "C", 0);
  reverse_compute_at(sch, get_block(sch, "U"), rows);
  compute_at(sch, get_block(sch, "B"), rows);
  const auto parts = split(sch, loop_of(sch, "U", 1), {infer, 4});
  // Two of the four iterations read nothing, and rows that C would need are not there yet.
  compute_at(sch, get_block(sch, "C"), parts[1]);
  expect_result(sch, before);
}

TEST(skewed_consumer, follows_windows_that_overlap) {
  for (const int width : {10, 12}) {
    const auto before = program(
        fmt::format(R"(A: T.Buffer(({0},), "float32"), C: T.Buffer((64,), "float32"))", 56 + width),
        fmt::format(R"(
B = T.alloc_buffer(({1},))
for o, i in T.grid(8, {0}):
    with T.block("B"):
        vi = T.axis.spatial({1}, o * 8 + i)
        B[vi] = A[vi] * T.float32(2)
for i in range(64):
    with T.block("C"):
        vi = T.axis.spatial(64, i)
        C[vi] = B[vi] + B[vi + 2]
)",
                    width, 56 + width));
    Schedule sch(before);
    reverse_compute_at(sch, get_block(sch, "C"), loop_of(sch, "B", 0));
    rolling_buffer(sch, get_block(sch, "B"), 0);
    expect_result(sch, before);
  }
}

TEST(skewed_consumer, is_refused_for_iterations_at_once) {
  const auto before = line(10, 8, "B[vi] + B[vi + 2]");
  Schedule sch(before);
  const auto loop = loop_of(sch, "B", 0);
  parallel(sch, loop);
  EXPECT_NE(error_of([&] { reverse_compute_at(sch, get_block(sch, "C"), loop); }), "");
  EXPECT_EQ(error_of([&] {
              Schedule other(line(10, 10, "B[vi] + B[9 - vi]"));
              reverse_compute_at(other, get_block(other, "C"), loop_of(other, "B", 0));
            }).substr(0, 19),
            "step_keeps_results:");
}

TEST(skewed_consumer, refuses_inputs_that_are_computed_otherwise_again) {
  const auto before = program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32"))", R"(
X = T.alloc_buffer((1,))
B = T.alloc_buffer((8,))
D = T.alloc_buffer((8, 4))
for i, j in T.grid(8, 4):
    X[0] = A[i] + T.cast(j, "float32")
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = X[0]
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = A[vi]
for i, j in T.grid(8, 4):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi] + D[vi, vj]
)");
  Schedule sch(before);
  const auto [i, j] = get_loops(sch, get_block(sch, "D")).take<2>();
  EXPECT_EQ(error_of([&] { reverse_compute_at(sch, get_block(sch, "C"), j); }),
            "step_keeps_results: reverse_compute_at: results would change: B (i=7, j=3) "
            "writes B before C (vi=7, vj=2) reads it, and would come after that");
  reverse_compute_at(sch, get_block(sch, "C"), i);
  expect_result(sch, before);
}

}  // namespace
}  // namespace loopsmith
