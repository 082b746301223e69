// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/peel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/random_arguments.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto short_rows =
    R"(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32"))";

std::string why_refused(const Ptr<PrimFunc>& func, const std::function<void(Schedule&)>& step) {
  Schedule sch(func);
  return error_of([&] { step(sch); });
}

TEST(peel, takes_iterations_from_both_ends) {
  const auto before = program(short_rows, R"(
for i in range(10):
    B[i] = A[T.max(i - 1, 0)] + A[T.min(i + 1, 9)]
)");
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i");
  const auto loops = peel(sch, i, 1, 2);
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(loops[1], i);
  expect_result(sch, before, program(short_rows, R"(
for i_first in range(1):
    B[i_first] = A[0] + A[1]
for i in range(1, 8):
    B[i] = A[i - 1] + A[i + 1]
for i_last in range(8, 10):
    B[i_last] = A[i_last - 1] + A[9]
)"));
}

TEST(peel, decides_what_is_special_in_a_part) {
  const auto before = program(short_rows, R"(
for i in range(10):
    if i == 0:
        B[i] = A[i]
    else:
        B[i] = T.Select(i != 9, B[i - 1], T.float32(1)) + A[i]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  expect_result(sch, before, program(short_rows, R"(
for i_first in range(1):
    B[i_first] = A[i_first]
for i in range(1, 9):
    B[i] = B[i - 1] + A[i]
for i_last in range(9, 10):
    B[i_last] = T.float32(1) + A[i_last]
)"));
}

TEST(peel, decides_where_indices_wrap_around) {
  const auto before = program("a: T.handle, b: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n,))
B = T.match_buffer(b, (n,))
for i in range(n):
    B[i] = A[(i + n - 1) % n] + A[(i + 1) % n]
)");
  Schedule sch(before);
  const auto parts = peel(sch, get_loop(sch, "i"), 1, 1);
  EXPECT_EQ(to_string(sch.get(parts[1]).body), "B[i] = A[i - 1] + A[i + 1]");
}

TEST(peel, tells_axes_of_any_order_their_values) {
  for (const std::string_view axis : {"opaque", "scan", "spatial", "reduce"}) {
    const auto before = program(short_rows, fmt::format(R"(
for i in range(10):
    with T.block("B"):
        v = T.axis.{}(10, i)
        B[v] = T.Select(v > 0, B[T.max(v - 1, 0)], T.float32(0)) + A[v]
)",
                                                        axis));
    Schedule sch(before);
    const auto parts = peel(sch, get_loop(sch, "i"), 1, 0);
    parallel_scan(sch, parts[1], 4);
    expect_result(sch, before);
  }
}

TEST(peel, decides_values_that_a_part_shares) {
  const auto before = program(short_rows, R"(
for i in range(3):
    for p in range(i + 1):
        half = 1 << (i - p)
        for t in range(half):
            B[t] = A[t + half] + B[t]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "p"), 0, 1);
  expect_result(sch, before, program(short_rows, R"(
for i in range(3):
    for p in range(i):
        half = 1 << (i - p)
        for t in range(half):
            B[t] = A[t + half] + B[t]
    for p_last in range(i, i + 1):
        for t in range(1):
            B[t] = A[t + 1] + B[t]
)"));
}

TEST(peel, decides_bounds_of_loops_inside) {
  const auto before = program(short_rows, R"(
for i in range(10):
    for j in range(T.max(i, 4) - 4, T.max(i, 4) - 4 + (T.min(i, 7) - T.max(i, 4) + 5)):
        B[j] = B[j] + A[i]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 4, 2);
  expect_result(sch, before, program(short_rows, R"(
for i_first in range(4):
    for j in range(i_first + 1):
        B[j] = B[j] + A[i_first]
for i in range(4, 8):
    for j in range(i - 4, i - 4 + 5):
        B[j] = B[j] + A[i]
for i_last in range(8, 10):
    for j in range(i_last - 4, i_last - 4 + (12 - i_last)):
        B[j] = B[j] + A[i_last]
)"));
}

TEST(peel, aligns_ends_of_triangles) {
  const auto before = program("a: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n))
for i in range(n):
    for j in range(i):
        A[i, j] = A[i, j] + T.float32(1)
)");
  Schedule sch(before);
  const auto rows = peel(sch, get_loop(sch, "i"), 0, 0, 0, 4);
  ASSERT_EQ(rows.size(), 2u);
  const auto row = split(sch, rows[0], {infer, 4})[1];
  const auto columns = peel(sch, get_child_loops(sch, row)[0], 0, 0, 0, 4);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_NE(body_of(sch).find("for j in range(i_0 * 4):"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("for j_last in range(i_0 * 4, i_0 * 4 + i_1):"), std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, tells_blocks_their_values) {
  const auto before = program("a: T.handle, b: T.handle", R"(
n = T.int32(is_size_var=True)
A = T.match_buffer(a, (n,))
B = T.match_buffer(b, (n,))
for i in range(n):
    with T.block("B"):
        v = T.axis.spatial(n, i)
        B[v] = A[T.max(T.min(v - 1, n - 1), 0)] + A[T.min(v + 1, n - 1)]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  EXPECT_NE(body_of(sch).find("B[v] = A[v - 1] + A[v + 1]"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("B[v] = A[0] + "), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, aligns_loops_of_triangles) {
  const auto before = program("a: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n))
for k in range(n):
    for j in range(k + 1, n):
        A[k, j] = A[k, j] + T.float32(1)
)");
  Schedule sch(before);
  split(sch, get_loop(sch, "k"), {infer, 4});
  const auto loops = peel(sch, get_loop(sch, "j"), 0, 0, 4);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[1], get_loop(sch, "j"));
  EXPECT_NE(body_of(sch).find("for j in range(k_0 * 4 + 4, k_0 * 4 + 4 + (n - k_0 * 4 - 4)):"),
            std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, aligns_to_what_is_known) {
  const auto before = program(short_rows, "for i in range(3, 10):\n    B[i] = A[i]\n");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1, 4);
  expect_result(sch, before, program(short_rows, R"(
for i_first in range(3, 4):
    B[i_first] = A[i_first]
for i in range(4, 9):
    B[i] = A[i]
for i_last in range(9, 10):
    B[i_last] = A[i_last]
)"));
}

/// A window of five, through a buffer whose elements are computed where they are read.
Ptr<PrimFunc> window() {
  return program(R"(a: T.handle, c: T.handle)", R"(
n = T.int32()
A = T.match_buffer(a, (n + 4,), "float32")
C = T.match_buffer(c, (n,), "float32")
B = T.alloc_buffer((n + 4,))
for i in range(n + 4):
    with T.block("B"):
        vi = T.axis.spatial(n + 4, i)
        B[vi] = A[vi] * T.float32(2)
for j in range(n):
    with T.block("C"):
        vj = T.axis.spatial(n, j)
        C[vj] = B[vj] + B[vj + 2] * B[vj + 4]
)");
}

TEST(peel, gives_parts_what_each_iteration_has_for_itself) {
  const auto before = window();
  Schedule sch(before);
  const LoopRV j = get_loop(sch, "j");
  compute_at(sch, get_block(sch, "B"), j);
  for (const LoopRV part : peel(sch, j, 1, 2)) parallel(sch, part);
  expect_result(sch, before);
}

TEST(peel, leaves_borders_that_run_at_once) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n), "float32")
C = T.match_buffer(c, (n, n), "float32")
B = T.alloc_buffer((n, n), "float32")
for i, j in T.grid(n, n):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, T.max(vj - 1, 0)] + A[vi, T.min(vj + 1, n - 1)]
for y, x in T.grid(n, n):
    with T.block("C"):
        vy, vx = T.axis.remap("SS", [y, x])
        C[vy, vx] = B[T.max(vy - 1, 0), vx] + B[T.min(vy + 1, n - 1), vx]
)");
  Schedule sch(before);
  const LoopRV y = get_loop(sch, "y");
  compute_at(sch, get_block(sch, "B"), y);
  // The last part has min(n, 2) - 1 iterations: one at most.
  for (const LoopRV part : peel(sch, y, 1, 1)) parallel(sch, part);
  expect_result(sch, before);
}

TEST(peel, gives_parts_rings_of_their_own) {
  const auto before = window();
  Schedule sch(before);
  const auto [outer, inner] = split(sch, get_loop(sch, "j"), {infer, 8}).take<2>();
  const BlockRV computed = get_block(sch, "B");
  compute_at(sch, computed, inner);
  store_at(sch, computed, outer);
  for (const LoopRV part : peel(sch, outer, 1, 1)) parallel(sch, part);
  expect_result(sch, before);
}

TEST(peel, leaves_memory_that_goes_from_one_iteration_to_the_next) {
  const auto before = program(short_rows, R"(
t = T.alloc_buffer((2,))
t[0] = T.float32(0)
for i in range(10):
    t[(i + 1) % 2] = t[i % 2] + A[i]
    B[i] = t[(i + 1) % 2]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  expect_result(sch, before);
}

TEST(peel, starts_a_reduction_once) {
  const auto before = matmul(4, 3, 8);
  Schedule sch(before);
  peel(sch, get_loops(sch, get_block(sch, "C"))[2], 1, 1);
  EXPECT_TRUE(sch.get(get_block(sch, "C_first")).init.defined());
  EXPECT_FALSE(sch.get(get_block(sch, "C")).init.defined());
  EXPECT_FALSE(sch.get(get_block(sch, "C_last")).init.defined());
  expect_result(sch, before);
}

TEST(peel, starts_reductions_over_nothing_in_all_parts) {
  // The reduction never is at its first value, so its init is given where it has none alone.
  const auto before = program("B: T.Buffer((3,), 'float64'), n: T.int32", R"(
for i in range(n):
    for j in range(3):
        with T.block("B"):
            vi = T.axis.reduce(n, i)
            vj = T.axis.spatial(3, j)
            vk = T.axis.reduce(3, 1)
            with T.init():
                B[vj] = T.float64(1)
            B[vj] = T.float64(2)
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "j"), 1, 0);
  expect_result(sch, before);
}

TEST(peel, keeps_conditions_that_reductions_over_nothing_do_not_ask) {
  // Where n is 0, the init is given, since the condition reads a loop of the reduction.
  const auto before = program("B: T.Buffer((1,), 'float64'), n: T.int32", R"(
for i in range(1):
    if i >= 1:
        with T.block("B"):
            vk = T.axis.reduce(n, 0)
            vi = T.axis.reduce(1, i)
            with T.init():
                B[0] = T.float64(1)
            B[0] = T.float64(2)
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 0);
  expect_result(sch, before);
  EXPECT_NE(body_of(sch).find("if i_first >= 1:"), std::string::npos) << body_of(sch);
}

TEST(peel, refuses_what_is_not_there) {
  const auto func = program(short_rows, "for i in range(10):\n    B[i] = A[i]\n");
  EXPECT_EQ(why_refused(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 0, 0); }),
            "number_is_in_range: peel: 0 iterations of loop i are to come before it");
  EXPECT_EQ(why_refused(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 1, -2); }),
            "number_is_in_range: peel: -2 iterations of loop i are to come after it");
  EXPECT_EQ(why_refused(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 6, 5); }),
            "number_is_in_range: peel: 11 iterations are to be peeled of loop i, which has 10");
  const auto odd = program(short_rows, "for i in range(0, 10, 2):\n    B[i] = A[i]\n");
  EXPECT_EQ(why_refused(odd, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 1, 0, 4); }),
            "number_is_in_range: peel: loop i counts by 2, and is to start or end at a "
            "multiple of 4");
  const auto left = program(short_rows, R"(
for i in range(10):
    B[i] = A[i]
    if A[i] > T.float32(0):
        break
)");
  EXPECT_EQ(why_refused(left, [](Schedule& sch) { peel(sch, get_loop(sch, "i")); }),
            "iterations_reach_their_end: peel: a break ends loop i, or an iteration of it, early");
}

TEST(peel, cuts_a_loop_at_the_value_of_one_around_it) {
  for (const std::string_view type : {"float32", "int32", "int8", "uint16"}) {
    const auto before = program("d: T.handle", fmt::format(R"(
n = T.int32()
D = T.match_buffer(d, (n, n), "{}")
for k, i, j in T.grid(n, n, n):
    D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])
)",
                                                           type));
    Schedule sch(before);
    const LoopRV k = get_loop(sch, "k"), i = get_loop(sch, "i"), j = get_loop(sch, "j");
    EXPECT_FALSE(vectorize.can_apply(sch, {j}));
    const auto columns = peel.apply(sch, {.loop = j, .at = k});
    ASSERT_EQ(columns.size(), 3u);
    EXPECT_EQ(columns[2], j);
    vectorize(sch, columns[0]);
    vectorize(sch, columns[2]);
    EXPECT_FALSE(parallel.can_apply(sch, {i}));
    const auto rows = peel.apply(sch, {.loop = i, .at = k});
    ASSERT_EQ(rows.size(), 3u);
    parallel(sch, rows[0]);
    parallel(sch, rows[2]);
    EXPECT_NE(body_of(sch).find("for i_before in T.parallel(k):"), std::string::npos)
        << body_of(sch);
    expect_result(sch, before);
  }
}

TEST(peel, decides_what_a_pivot_is) {
  const auto before = program("a: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n), "float32")
for k, i in T.grid(n, n):
    if i != k:
        for j in range(n):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
)");
  Schedule sch(before);
  peel.apply(sch, {.loop = get_loop(sch, "i"), .at = get_loop(sch, "k")});
  EXPECT_EQ(body_of(sch).find("if "), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, cuts_a_loop_at_numbers) {
  const auto before = program(short_rows, "for i in range(2, 10):\n    B[i] = A[i] + B[5]\n");
  Schedule sch(before);
  peel.apply(sch, {.loop = get_loop(sch, "i"), .first = 2, .last = 1, .at = 5});
  expect_result(sch, before, program(short_rows, R"(
for i_before in range(2, 5):
    B[i_before] = A[i_before] + B[5]
for i_at in range(5, 7):
    B[i_at] = A[i_at] + B[5]
for i in range(7, 9):
    B[i] = A[i] + B[5]
for i_last in range(9, 10):
    B[i_last] = A[i_last] + B[5]
)"));
  for (const int outside : {-3, 1, 2, 9, 10, 20}) {
    Schedule beside(before);
    peel.apply(beside, {.loop = get_loop(beside, "i"), .at = outside});
    expect_result(beside, before);
  }
}

TEST(peel, cuts_a_loop_at_sizes) {
  const auto before = program("a: T.handle, b: T.handle, c: T.handle", R"(
n = T.int32()
m = T.int32()
A = T.match_buffer(a, (n,), "float32")
B = T.match_buffer(b, (n,), "float32")
C = T.match_buffer(c, (m,), "float32")
for i in range(n):
    if i + 1 < m:
        A[i] = A[i] + C[i + 1]
    else:
        A[i] = A[i] * B[i]
)");
  Schedule sch(before);
  const Expr m = before->buffer_map[2]->shape[0];
  const auto parts = peel.apply(sch, {.loop = get_loop(sch, "i"), .first = 0, .at = m - 1});
  ASSERT_EQ(parts.size(), 2u);
  for (const LoopRV part : parts) vectorize(sch, part);
  EXPECT_EQ(body_of(sch).find("if "), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, refuses_to_cut_where_it_cannot) {
  const auto nest = program(short_rows, R"(
for i in range(10):
    for j in range(0, 10, 2):
        B[j] = A[i]
for k in range(10):
    C[k] = A[k]
)");
  const auto cut = [&](const char* loop, const LoopValue& at, std::int64_t align = 0) {
    return why_refused(nest, [&](Schedule& sch) {
      peel.apply(sch, {.loop = get_loop(sch, loop), .align = align, .at = at});
    });
  };
  EXPECT_EQ(cut("j", 4),
            "arguments_fit: peel: loop j counts by 2, aligned to 1, and is to be cut at 4");
  EXPECT_EQ(cut("k", 4, 8),
            "arguments_fit: peel: loop k counts by 1, aligned to 8, and is to be cut at 4");
  EXPECT_EQ(
      cut("k", var("m", i64)),
      "argument_has_type: peel: loop k is to be cut at m, of type int64, but counts in int32");
  EXPECT_EQ(
      cut("k", var("m", i32)),
      "argument_has_type: peel: the value to cut at of loop k is m, which reads m, no size of "
      "the function");
  EXPECT_EQ(cut("k", std::int64_t{1} << 40),
            "number_is_in_range: peel: at is 1099511627776, not within -1073741823 and 1073741823");
  EXPECT_EQ(why_refused(nest,
                        [](Schedule& sch) {
                          peel.apply(sch, {.loop = get_loop(sch, "k"), .at = get_loop(sch, "i")});
                        }),
            "loop_is_around_loop: peel: loop i is not around loop k");
}

TEST(peel, refuses_to_part_reductions_of_unknown_length) {
  const auto func = program(R"(a: T.handle, C: T.Buffer((1,), "float32"))", R"(
n = T.int32()
A = T.match_buffer(a, (n,), "float32")
for k in range(n):
    with T.block("C"):
        vk = T.axis.reduce(n, k)
        with T.init():
            C[0] = T.float32(0)
        C[0] = C[0] + A[vk]
)");
  EXPECT_EQ(
      why_refused(func, [](Schedule& sch) { peel(sch, get_loop(sch, "k")); }),
      "step_keeps_results: peel: results may change: block C starts its reduction in one of the "
      "iterations of loop k, whose bounds are no constants");
}

TEST(peel, keeps_inits_of_nothing_under_parts_that_have_no_iterations) {
  const auto before = program(R"(A: T.Buffer((1, 1), "int32"), n: T.int32)", R"(
for i, j in T.grid(n, n):
    with T.block("A"):
        vi = T.axis.reduce(n, i)
        with T.init():
            A[0, 0] = 0
        A[0, 0] = 1
)");
  Schedule sch(before);
  const LoopValue outer = get_loop(sch, "i");
  peel.apply(sch, {.loop = get_loop(sch, "j"), .first = 0, .last = 1, .at = outer});
  expect_result(sch, before);
  const auto arguments = random_arguments(*before, 0, 1);
  const judge::Judgement judged = judge::same(*before, *sch.func(), arguments, 1);
  EXPECT_TRUE(judged.sameness == judge::Sameness::same) << judged.reason;
}

TEST(peel, declares_the_rows_that_are_left_of_those_that_wrap_around) {
  const auto func = program(R"(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"))", R"(
for y in range(64):
    with T.block("B"):
        vy = T.axis.spatial(64, y)
        B[vy] = A[(vy + 63) % 64] + A[(vy + 1) % 64]
)");
  Schedule sch(func);
  peel(sch, get_loop(sch, "y"), 1, 1);
  const auto rows_of = [&](const std::string& block) {
    return sch.get(get_block(sch, block)).reads[0]->region[0]->extent;
  };
  EXPECT_TRUE(is_const_int(rows_of("B"), 3));
  EXPECT_TRUE(is_const_int(rows_of("B_first"), 63));
  EXPECT_TRUE(is_const_int(rows_of("B_last"), 63));
  expect_result(sch, func);
}

}  // namespace
}  // namespace loopsmith
