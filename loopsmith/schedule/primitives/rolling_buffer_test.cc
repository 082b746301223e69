// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rolling_buffer.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

Ptr<PrimFunc> stencil() {
  return program(R"(A: T.Buffer((34, 10), "float32"), C: T.Buffer((32, 8), "float32"))", R"(
B = T.alloc_buffer((34, 10))
for i, j in T.grid(34, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for i, j in T.grid(32, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi + 1, vj + 1] + B[vi + 2, vj + 2]
)");
}

TEST(rolling_buffer, computes_nothing_twice) {
  const auto before = stencil();
  Schedule sch(before);
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const auto b = get_block(sch, "B");
  compute_at(sch, b, split(sch, i, {infer, 8})[0]);
  rolling_buffer(sch, b, 0);
  EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 10));
  EXPECT_EQ(sch.get(b).iter_vars[0]->iter_type, IterType::opaque);
  EXPECT_EQ(sch.get(b).iter_vars[1]->iter_type, IterType::data_par);
  EXPECT_NE(body_of(sch).find("T.where(i_0 < 1 or 2 <= ax0)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(rolling_buffer, rolls_in_tiles_and_past_borders) {
  const auto before = stencil();
  Schedule sch(before);
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const auto rows = split(sch, i, {infer, 5});
  const auto columns = split(sch, j, {infer, 4});
  reorder(sch, {rows[0], columns[0], rows[1], columns[1]});
  const auto b = get_block(sch, "B");
  compute_at(sch, b, columns[0]);
  rolling_buffer(sch, b, 0);
  EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 7)) << body_of(sch);
  expect_result(sch, before);
}

/// Two maxima over windows of 3 by 3, one after the other.
Ptr<PrimFunc> pools() {
  return program(R"(A: T.Buffer((16, 14), "float32"), C: T.Buffer((12, 10), "float32"))", R"(
B = T.alloc_buffer((14, 12))
for i, j, y, x in T.grid(14, 12, 3, 3):
    with T.block("B"):
        vi, vj, vy, vx = T.axis.remap("SSRR", [i, j, y, x])
        with T.init():
            B[vi, vj] = T.min_value("float32")
        B[vi, vj] = T.max(B[vi, vj], A[vi + vy, vj + vx])
for i, j, y, x in T.grid(12, 10, 3, 3):
    with T.block("C"):
        vi, vj, vy, vx = T.axis.remap("SSRR", [i, j, y, x])
        with T.init():
            C[vi, vj] = T.min_value("float32")
        C[vi, vj] = T.max(C[vi, vj], B[vi + vy, vj + vx])
)");
}

TEST(rolling_buffer, keeps_results_of_reductions_in_both_directions) {
  const auto before = pools();
  for (const bool by_columns : {false, true}) {
    Schedule sch(before);
    const auto loops = get_loops(sch, get_block(sch, "C"));
    const auto rows = split(sch, loops[0], {infer, 4});
    const auto columns = split(sch, loops[1], {infer, 3});
    if (by_columns)
      reorder(sch, {columns[0], rows[0], rows[1], columns[1]});
    else
      reorder(sch, {rows[0], columns[0], rows[1], columns[1]});
    const auto b = get_block(sch, "B");
    compute_at(sch, b, by_columns ? rows[0] : columns[0]);
    rolling_buffer(sch, b, 0);
    const std::string text = body_of(sch);
    EXPECT_NE(text.find("i_0 < 1 or 2 <= ax0"), std::string::npos) << text;
    EXPECT_NE(text.find("j_0 < 1 or 2 <= ax1"), std::string::npos) << text;
    const auto& shape = sch.get(b).writes[0]->buffer->shape;
    EXPECT_TRUE(is_const_int(shape[0], by_columns ? 14 : 6)) << text;
    EXPECT_TRUE(is_const_int(shape[1], by_columns ? 5 : 12)) << text;
    expect_result(sch, before);
  }
}

/// Two stencils of three rows and columns, one after the other.
Ptr<PrimFunc> three_stages() {
  return program(R"(A: T.Buffer((2, 14, 12), "float32"), D: T.Buffer((2, 10, 8), "float32"))", R"(
B = T.alloc_buffer((2, 14, 12))
C = T.alloc_buffer((2, 12, 10))
for c, i, j in T.grid(2, 14, 12):
    with T.block("B"):
        vc, vi, vj = T.axis.remap("SSS", [c, i, j])
        B[vc, vi, vj] = A[vc, vi, vj] * A[vc, vi, vj]
for c, i, j, y, x in T.grid(2, 12, 10, 3, 3):
    with T.block("C"):
        vc, vi, vj, vy, vx = T.axis.remap("SSSRR", [c, i, j, y, x])
        with T.init():
            C[vc, vi, vj] = T.float32(1)
        C[vc, vi, vj] = C[vc, vi, vj] + B[vc, vi + vy, vj + vx]
for c, i, j in T.grid(2, 10, 8):
    with T.block("D"):
        vc, vi, vj = T.axis.remap("SSS", [c, i, j])
        D[vc, vi, vj] = C[vc, vi, vj] * C[vc, vi + 2, vj + 1]
)");
}

TEST(rolling_buffer, keeps_what_consumers_that_lag_behind_read) {
  const auto before = three_stages();
  for (const int depth : {1, 2}) {
    Schedule sch(before);
    const auto place = get_loops(sch, get_block(sch, "B"))[depth];
    for (const char* name : {"C", "D"}) {
      reverse_compute_at(sch, get_block(sch, name), place);
    }
    for (const char* name : {"B", "C"}) {
      const auto block = get_block(sch, name);
      rolling_buffer(sch, block, 0);
      const auto& shape = sch.get(block).writes[0]->buffer->shape;
      EXPECT_TRUE(is_const_int(shape[1], 3)) << body_of(sch);
    }
    expect_result(sch, before);
  }
}

TEST(rolling_buffer, keeps_what_consumers_that_were_shifted_read) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.size_var()
A = T.match_buffer(a, (n + 2, 6))
C = T.match_buffer(c, (n, 6))
B = T.alloc_buffer((n + 2, 6))
for i, j in T.grid(n + 2, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * A[vi, vj]
for k, l in T.grid(n, 6):
    with T.block("C"):
        vk, vl = T.axis.remap("SS", [k, l])
        C[vk, vl] = B[vk, vl] + B[vk + 1, vl] * B[vk + 2, vl]
)");
  Schedule sch(before);
  shift(sch, get_loop(sch, "k"), 2);
  merge_siblings(sch, {get_loop(sch, "i"), get_loop(sch, "k")});
  rolling_buffer(sch, get_block(sch, "B"), 0);
  EXPECT_NE(body_of(sch).find("B = T.alloc_buffer((3, 6))"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
  expect_replays(sch, before);
}

TEST(rolling_buffer, refuses_consumers_that_come_too_early) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((6,), "float32"))", R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * A[vi]
for k in range(6):
    with T.block("C"):
        vk = T.axis.spatial(6, 5 - k)
        C[vk] = B[vk] + B[vk + 2]
)"));
  shift(sch, get_loop(sch, "k"), 7);
  merge_siblings(sch, {get_loop(sch, "i"), get_loop(sch, "k")});
  EXPECT_EQ(error_of([&] { rolling_buffer(sch, get_block(sch, "B"), 0); }).substr(0, 25),
            "rolling_pattern_is_found:");
}

TEST(rolling_buffer, keeps_rows_from_tile_to_tile) {
  const auto before = three_stages();
  Schedule sch(before);
  const auto rows = split(sch, get_loops(sch, get_block(sch, "B"))[1], {infer, 7});
  reverse_compute_at(sch, get_block(sch, "C"), rows[1]);
  rolling_buffer(sch, get_block(sch, "B"), 0);
  const auto& shape = sch.get(get_block(sch, "B")).writes[0]->buffer->shape;
  EXPECT_TRUE(is_const_int(shape[1], 3)) << body_of(sch);
  expect_result(sch, before);
}

/// Why B of these lines does not roll.
std::string refusal_of(std::string_view lines) {
  const auto func =
      program(R"(A: T.Buffer((12,), "float32"), C: T.Buffer((2, 8), "float32"))", lines);
  Schedule sch(func);
  const std::string error = error_of([&] { rolling_buffer(sch, get_block(sch, "B"), 0); });
  if (error.empty()) expect_result(sch, func);
  return error;
}

TEST(rolling_buffer, refuses_what_is_not_computed_again) {
  EXPECT_EQ(
      refusal_of(R"(
B = T.alloc_buffer((12,))
for c, i in T.grid(2, 8):
    for ax in range(3):
        with T.block("B"):
            v = T.axis.spatial(12, i + ax)
            T.where(c < 1)
            B[v] = A[v] * T.float32(2)
    with T.block("C"):
        vc, vi = T.axis.remap("SS", [c, i])
        C[vc, vi] = B[vi] + B[vi + 2]
)"),
      "step_keeps_results: rolling_buffer: results would change: C (c=1, i=0) reads B after B "
      "(c=0, i=1, ax=2) changes what it stands for");
  // The element alone decides.
  EXPECT_EQ(refusal_of(R"(
B = T.alloc_buffer((12,))
for c, i in T.grid(2, 8):
    for ax in range(3):
        with T.block("B"):
            v = T.axis.spatial(12, i + ax)
            T.where(i + ax < 10)
            B[v] = A[v] * T.float32(2)
    with T.block("C"):
        vc, vi = T.axis.remap("SS", [c, i])
        C[vc, vi] = B[vi] + B[vi + 2]
)"),
            "");
}

TEST(rolling_buffer, refuses_rows_of_the_run_before) {
  const std::string none =
      "rolling_pattern_is_found: rolling_buffer: B has no rolling pattern, as ";
  // At first the second run reads what the first has computed.
  EXPECT_EQ(refusal_of(R"(
B = T.alloc_buffer((12,))
for c, i in T.grid(2, 8):
    with T.block("B"):
        v = T.axis.spatial(12, i)
        B[v] = A[v] * T.float32(2)
    with T.block("C"):
        vc, vi = T.axis.remap("SS", [c, i])
        T.where(c > 0 or i > 1)
        C[vc, vi] = B[(vi + 6) % 8] + B[vi]
)"),
            none + "no serial loop moves a window over it in overlapping steps");
  EXPECT_EQ(refusal_of(R"(
B = T.alloc_buffer((12,))
for c, i in T.grid(2, 8):
    with T.block("C"):
        vc, vi = T.axis.remap("SS", [c, i])
        T.where(c > 0)
        C[vc, vi] = B[vi]
    with T.block("B"):
        v = T.axis.spatial(12, i)
        B[v] = A[v] * T.float32(2)
)"),
            none + "a consumer stands before its block");
}

TEST(rolling_buffer, refuses_reductions_that_it_would_cut) {
  Schedule unfinished(program(R"(A: T.Buffer((20,), "float32"), C: T.Buffer((16,), "float32"))", R"(
B = T.alloc_buffer((18,))
for t in range(4):
    for y in range(3):
        for a in range(6):
            with T.block("B"):
                vi = T.axis.spatial(18, t * 4 + a)
                vy = T.axis.reduce(3, y)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi + vy]
        for a in range(4):
            with T.block("C"):
                vi = T.axis.spatial(16, t * 4 + a)
                C[vi] = B[vi] + B[vi + 2]
)"));
  EXPECT_EQ(error_of([&] { rolling_buffer(unfinished, get_block(unfinished, "B"), 0); }),
            "rolling_pattern_is_found: rolling_buffer: B has no rolling pattern, as an iteration "
            "does not finish its reduction");

  Schedule sch(program(R"(A: T.Buffer((18,), "float32"), C: T.Buffer((1,), "float32"))", R"(
B = T.alloc_buffer((18,))
for t in range(4):
    for a in range(6):
        with T.block("B"):
            vi = T.axis.spatial(18, t * 4 + a)
            B[vi] = A[vi] * T.float32(2)
    for a in range(4):
        with T.block("C"):
            vi = T.axis.reduce(16, t * 4 + a)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + B[vi] * B[vi + 2]
)"));
  EXPECT_EQ(error_of([&] { rolling_buffer(sch, get_block(sch, "B"), 0); }),
            "rolling_pattern_is_found: rolling_buffer: B has no rolling pattern, as a loop that "
            "moves a reduction would roll it");
}

TEST(rolling_buffer, refuses_windows_of_which_a_part_is_computed) {
  const auto before =
      program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((6, 4), "float32"))", R"(
B = T.alloc_buffer((8, 4))
for i in range(6):
    for y, x in T.grid(16, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i + y)
            vj = T.axis.spatial(4, x)
            T.where(y < 3)
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for x in range(4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, x])
            C[vi, vj] = B[vi, vj] + B[vi + 2, vj]
)");
  Schedule sch(before);
  EXPECT_EQ(error_of([&] { rolling_buffer(sch, get_block(sch, "B"), 0); }),
            "step_keeps_results: rolling_buffer: results would change: C (i=3, x=0) reads what B "
            "(vi=3, vj=0) writes to B, which would not be there yet");
}

TEST(rolling_buffer, refuses_what_does_not_roll) {
  Schedule sch(stencil());
  const auto b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { rolling_buffer(sch, b, 0); }),
            "rolling_pattern_is_found: rolling_buffer: B has no rolling pattern, as no loop is "
            "around the block and its consumers");
  EXPECT_EQ(error_of([&] { rolling_buffer(sch, b, 1); }),
            "number_is_in_range: rolling_buffer: write_buffer_index is 1, not within 0 and 0");
}

TEST(rolling_buffer, keeps_windows_that_do_not_overlap_one_at_a_time) {
  const auto before = two_stages(8, 6);
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  compute_at(sch, b, get_loops(sch, get_block(sch, "C"))[0]);
  rolling_buffer(sch, b, 0);
  EXPECT_TRUE(is_const_int(sch.get(b).writes[0]->buffer->shape[0], 1)) << body_of(sch);
  expect_result(sch, before);
}

}  // namespace
}  // namespace loopsmith
