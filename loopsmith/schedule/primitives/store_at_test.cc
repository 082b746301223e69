// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/store_at.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

std::string refused(Schedule& schedule, BlockRV block, LoopRV loop) {
  return error_of([&] { store_at(schedule, block, loop); });
}

/// Sums of `radius` rows and the rows between, of sums of neighbours.
Ptr<PrimFunc> blur(int radius) {
  std::string sum;
  for (int k = 0; k <= radius; ++k) {
    sum += fmt::format("{}B[vi + {}, vj]", k == 0 ? "" : " + ", k);
  }
  return program(fmt::format(R"(A: T.Buffer(({}, 10), "float32"), C: T.Buffer((24, 8), "float32"))",
                             24 + radius),
                 fmt::format(R"(
B = T.alloc_buffer(({0}, 8))
for i, j in T.grid({0}, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + A[vi, vj + 2]
for i, j in T.grid(24, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = {1}
)",
                             24 + radius, sum));
}

TEST(store_at, keeps_a_ring_for_each_tile) {
  for (const int radius : {1, 2, 5}) {
    const auto before = blur(radius);
    Schedule sch(before);
    const auto b = get_block(sch, "B");
    const auto rows = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 8});
    compute_at(sch, b, rows[1]);
    store_at(sch, b, rows[0]);
    EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], radius + 1));
    EXPECT_NE(body_of(sch).find(fmt::format("T.where(i_1 < 1 or {} <= ax0)", radius)),
              std::string::npos)
        << body_of(sch);
    parallel(sch, rows[0]);
    expect_result(sch, before);
    expect_replays(sch, before);
  }
}

TEST(store_at, keeps_a_ring_of_rows_that_borders_clamp) {
  for (const int rows : {16, 13}) {
    const auto before = program(
        fmt::format(R"(A: T.Buffer(({0}, 8), "float32"), C: T.Buffer(({0}, 8), "float32"))", rows),
        fmt::format(R"(
B = T.alloc_buffer(({0}, 8))
for i, j in T.grid({0}, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, T.max(vj - 1, 0)] + A[vi, T.min(vj + 1, 7)]
for i, j in T.grid({0}, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[T.max(vi - 1, 0), vj] + B[vi, vj] + B[T.min(vi + 1, {0} - 1), vj]
)",
                    rows));
    Schedule sch(before);
    const auto b = get_block(sch, "B");
    const auto tiles = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 4});
    compute_at(sch, b, tiles[1]);
    store_at(sch, b, tiles[0]);
    EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 3)) << body_of(sch);
    parallel(sch, tiles[0]);
    expect_result(sch, before);
    expect_replays(sch, before);
  }
}

TEST(store_at, keeps_a_ring_of_clamped_rows_of_any_number) {
  const auto before = program("a: T.handle, c: T.handle, n: T.int32, m: T.int32", R"(
A = T.match_buffer(a, (n, m))
C = T.match_buffer(c, (n, m))
B = T.alloc_buffer((n, m))
for i, j in T.grid(n, m):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, T.max(vj - 1, 0)] + A[vi, T.min(vj + 1, m - 1)]
for i, j in T.grid(n, m):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[T.max(vi - 1, 0), vj] + B[vi, vj] + B[T.min(vi + 1, n - 1), vj]
)");
  // A tile of all rows is a loop of one iteration around.
  for (const bool is_whole : {false, true}) {
    Schedule sch(before);
    const auto b = get_block(sch, "B");
    const LoopRV rows = get_loops(sch, get_block(sch, "C"))[0];
    const auto tiles = is_whole ? split(sch, rows, {1, infer}) : split(sch, rows, {infer, 4});
    compute_at(sch, b, tiles[1]);
    store_at(sch, b, tiles[0]);
    EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 3)) << body_of(sch);
    expect_result(sch, before);
  }
}

TEST(store_at, slides_along_rows_and_columns) {
  const auto before = blur(2);
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const auto rows = split(sch, i, {infer, 6});
  compute_at(sch, b, j);
  store_at(sch, b, rows[0]);
  EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 3)) << body_of(sch);
  parallel(sch, rows[0]);
  expect_result(sch, before);
}

TEST(store_at, keeps_a_ring_of_two_dimensions) {
  const auto before =
      program(R"(A: T.Buffer((8, 12, 5), "float32"), C: T.Buffer((8, 10, 5), "float32"))", R"(
B = T.alloc_buffer((8, 12, 5))
for i, j, k in T.grid(8, 12, 5):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
        B[vi, vj, vk] = A[vi, vj, vk] * A[vi, vj, vk]
for i, j, k in T.grid(8, 10, 5):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
        C[vi, vj, vk] = B[vi, vj, vk] + B[vi, vj + 1, vk] + B[vi, vj + 2, vk]
)");
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto planes = split(sch, i, {infer, 4});
  compute_at(sch, b, j);
  store_at(sch, b, planes[0]);
  EXPECT_NE(body_of(sch).find("B = T.alloc_buffer((1, 3, 5))"), std::string::npos) << body_of(sch);
  parallel(sch, planes[0]);
  expect_result(sch, before);
  expect_replays(sch, before);
}

TEST(store_at, keeps_rows_that_later_rows_read) {
  const auto before =
      program(R"(A: T.Buffer((10, 10), "float32"), C: T.Buffer((8, 8), "float32"))", R"(
B = T.alloc_buffer((10, 10))
for i, j in T.grid(10, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi + 2, vj + 2]
)");
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const auto rows = split(sch, i, {infer, 4});
  compute_at(sch, b, j);
  store_at(sch, b, rows[0]);
  EXPECT_NE(body_of(sch).find("B = T.alloc_buffer((3, 10))"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(store_at, takes_sizes_that_are_not_known) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.size_var()
m = T.size_var()
A = T.match_buffer(a, (n + 2, m))
C = T.match_buffer(c, (n, m))
B = T.alloc_buffer((n + 2, m))
for i, j in T.grid(n + 2, m):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for i, j in T.grid(n, m):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
)");
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  const auto rows = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 8});
  compute_at(sch, b, rows[1]);
  store_at(sch, b, rows[0]);
  EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 3)) << body_of(sch);
  parallel(sch, rows[0]);
}

TEST(store_at, refuses_other_places) {
  Schedule sch(blur(2));
  const auto b = get_block(sch, "B"), c = get_block(sch, "C");
  const auto rows = split(sch, get_loops(sch, c)[0], {infer, 8});
  EXPECT_EQ(
      refused(sch, b, rows[0]),
      "storage_is_outside: store_at: loop i_0 is not around block B and the loop in which it is "
      "computed");
  EXPECT_EQ(refused(sch, c, rows[0]).substr(0, 19), "block_is_no_output:");
  compute_at(sch, b, rows[1]);
  EXPECT_EQ(refused(sch, b, rows[1]).substr(0, 19), "storage_is_outside:");
}

TEST(store_at, refuses_a_window_that_stands_still) {
  const auto func = program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((4, 6), "float32"))", R"(
B = T.alloc_buffer((8,))
for r, i in T.grid(4, 6):
    with T.block("B"):
        vi = T.axis.spatial(8, 0)
        B[vi] = A[vi] * A[vi]
    with T.block("C"):
        vr, vi = T.axis.remap("SS", [r, i])
        C[vr, vi] = B[0]
)");
  Schedule sch(func);
  const auto b = get_block(sch, "B");
  EXPECT_EQ(refused(sch, b, get_loops(sch, b)[0]),
            "window_slides: store_at: no loop inside of r moves a window of known size over B");
}

}  // namespace
}  // namespace loopsmith
