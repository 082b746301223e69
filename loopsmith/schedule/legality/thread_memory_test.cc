// SPDX-License-Identifier: Apache-2.0
// Memory of threads and of their blocks, and the axes that loops are bound to.
#include <gtest/gtest.h>

#include "loopsmith/schedule/legality/concurrent_loops_test.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(thread_memory, is_looked_at_where_order_was_taken_on_trust) {
  const auto func = program(R"(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32"))", R"(
S = T.alloc_buffer((1,))
for k in T.thread_binding(6, thread="threadIdx.x"):
    with T.block("S"):
        vk = T.axis.opaque(6, k)
        S[0] = A[vk]
with T.block("B"):
    B[0] = S[0]
)");
  Schedule sch(func);
  set_scope(sch, get_block(sch, "S"), BufferSelector(0), "local");
  EXPECT_EQ(obligations_of(sch),
            "of buffer S_local, which is local memory, each iteration of loop k has its own as a "
            "thread, and it is used outside of the loop, too");
  set_scope(sch, get_block(sch, "S"), BufferSelector(0), "shared");
}

TEST(thread_memory, is_shared_wherever_it_is_allocated) {
  const auto func = program(R"(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32"))", R"(
for i in range(2):
    S = T.decl_buffer((8,), scope="shared")
    for j in range(8):
        S[j] = A[i, j]
    for j in range(8):
        B[i, j] = S[7 - j]
)");
  Schedule sch(func);
  EXPECT_EQ(error_of([&] { bind(sch, get_loop(sch, "i"), "threadIdx.x"); }),
            "step_keeps_results: bind: results would change: iterations of loop i depend on each "
            "other: iteration i=0, j=0 writes S[0], iteration i=1, j=0 writes it");
  bind(sch, get_loop(sch, "i"), "blockIdx.x");
  expect_result(sch, func);
}

TEST(thread_memory, is_used_inside_the_loop_of_its_threads) {
  const auto func = blur();
  Schedule sch(func);
  const LoopRV i = get_loops(sch, get_block(sch, "B"))[0];
  cache_write(sch, get_block(sch, "B"), BufferSelector(0), "local");
  bind(sch, i, "threadIdx.x");
  constexpr std::string_view local =
      "of buffer B_local, which is local memory, each iteration of loop i has its own as a thread, "
      "and it is used outside of the loop, too";
  EXPECT_EQ(obligations_of(sch), local);
  EXPECT_EQ(error_of([&] { require_no_obligations(sch, "lower"); }),
            fmt::format("thread_memory_stays_inside: lower: {}", local));
  reverse_compute_at(sch, get_block(sch, "B_local"), i);
  EXPECT_EQ(obligations_of(sch), "");
  expect_result(sch, func);
  Schedule later(func);
  bind(later, get_loops(later, get_block(later, "B"))[0], "threadIdx.x");
  set_scope(later, get_block(later, "B"), BufferSelector(0), "local");
  EXPECT_EQ(obligations_of(later), local);
  set_scope(later, get_block(later, "B"), BufferSelector(0), "shared");
  EXPECT_EQ(obligations_of(later), "");
  expect_result(later, func);
  bind(later, get_loops(later, get_block(later, "C"))[0], "blockIdx.x");
  EXPECT_EQ(
      obligations_of(later),
      "of buffer B_local_shared, which is shared memory, each iteration of loop i has its own "
      "as a thread, and it is used outside of the loop, too");
}

TEST(thread_memory, is_of_threads_that_count_by_one) {
  Schedule sch(program(R"(A: T.Buffer((9,), "float32"))", R"(
for i in range(0, 9, 3):
    A[i] = T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { bind(sch, get_loop(sch, "i"), "blockIdx.x"); }),
            "threads_count_by_one: bind: loop i counts in steps of 3, threads count by one");
}

TEST(thread_memory, may_be_shared_inside_a_block) {
  // Tiles share a border, and each block computes it for itself.
  const auto func = blur();
  Schedule sch(func);
  const LoopRV tile = split(sch, get_loops(sch, get_block(sch, "C"))[1], {infer, 3})[0];
  compute_at(sch, get_block(sch, "B"), tile);
  EXPECT_FALSE(bind.can_apply(sch, {.loop = tile, .thread_axis = "blockIdx.x"}));
  set_scope(sch, get_block(sch, "B"), BufferSelector(0), "shared");
  EXPECT_FALSE(parallel.can_apply(sch, {.loop = tile}));
  bind(sch, tile, "blockIdx.x");
  expect_result(sch, func);
}

TEST(thread_axes, are_of_one_loop_in_a_nest) {
  Schedule sch(blur());
  const auto [i, j] = get_loops(sch, get_block(sch, "D")).take<2>();
  bind(sch, i, "blockIdx.x");
  EXPECT_EQ(error_of([&] { bind(sch, j, "blockIdx.x"); }),
            "thread_axis_is_free: bind: loop i is bound to blockIdx.x, and one of it and loop j "
            "is inside the other");
  bind(sch, j, "threadIdx.x");
  EXPECT_FALSE(bind.can_apply(sch, {.loop = i, .thread_axis = "threadIdx.x"}));
}

TEST(thread_axes, virtual_threads_without_a_dimension_may_nest) {
  const auto func = blur();
  Schedule sch(func);
  const auto [i, j] = get_loops(sch, get_block(sch, "D")).take<2>();
  bind(sch, i, "vthread");
  bind(sch, j, "vthread");
  expect_result(sch, func);
}

TEST(thread_memory, may_be_local_inside) {
  const auto func = blur();
  Schedule sch(func);
  const LoopRV i = get_loops(sch, get_block(sch, "C"))[0];
  compute_at(sch, get_block(sch, "B"), i);
  set_scope(sch, get_block(sch, "B"), BufferSelector(0), "local");
  bind(sch, i, "threadIdx.x");
  expect_result(sch, func);
}

TEST(thread_memory, is_shared_by_threads_around_its_block) {
  const auto func = program(R"(A: T.Buffer((4,), "float32"), D: T.Buffer((8, 4), "float32"))", R"(
for i in range(8):
    with T.block("row"):
        vi = T.axis.spatial(8, i)
        S = T.alloc_buffer((4,), scope="shared")
        for j in range(4):
            S[j] = A[j] + T.float32(1)
        for k in range(4):
            D[vi, k] = S[3 - k]
)");
  // All threads fill it alike.
  for (const char* axis : {"threadIdx.x", "blockIdx.x"}) {
    Schedule sch(func);
    bind(sch, get_loop(sch, "i"), axis);
    expect_result(sch, func);
  }
  Schedule other(func);
  parallel(other, get_loop(other, "i"));
  expect_result(other, func);
}

TEST(thread_memory, is_not_shared_by_threads_that_fill_it_each_for_itself) {
  Schedule sch(program(R"(A: T.Buffer((4,), "float32"), D: T.Buffer((8, 4), "float32"))", R"(
for i in range(8):
    with T.block("row"):
        vi = T.axis.spatial(8, i)
        S = T.alloc_buffer((4,), scope="shared")
        for j in range(4):
            S[j] = A[j] + T.float32(vi)
        for k in range(4):
            D[vi, k] = S[3 - k]
)"));
  EXPECT_EQ(error_of([&] { bind(sch, get_loop(sch, "i"), "threadIdx.x"); }),
            "step_keeps_results: bind: results would change: iterations of loop i depend on each "
            "other: iteration "
            "i=0, j=0 writes S[0], iteration i=1, j=0 writes it");
}

/// Rows of D read each other's elements of a shared tile, which each iteration of k fills anew.
Ptr<PrimFunc> tiles_of_rows(std::string_view fill, std::string_view condition) {
  return program(R"(A: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32"))",
                 fmt::format(R"(
S = T.alloc_buffer((8,), scope="shared")
for i in range(8):
    for k in range(4):
        for j in range(8):
            with T.block("S"):
                vj = T.axis.spatial(8, j)
                vk = T.axis.opaque(4, k)
                vt = T.axis.opaque(8, i)
                S[vj] = {}
        if {}:
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.spatial(4, k)
                D[vk, vi] = S[7 - vi]
)",
                             fill, condition));
}

TEST(thread_axes, share_out_what_fills_a_tile) {
  const auto func = tiles_of_rows("A[vk, vj]", "i < 6");
  Schedule sch(func);
  bind(sch, get_loop(sch, "i"), "threadIdx.x");
  expect_result(sch, func);
  bind(sch, get_loop(sch, "j"), "threadIdx.x");
  expect_result(sch, func);
  Schedule inner_first(func);
  bind(inner_first, get_loop(inner_first, "j"), "threadIdx.x");
  bind(inner_first, get_loop(inner_first, "i"), "threadIdx.x");
  expect_result(inner_first, func);
}

TEST(thread_axes, do_not_share_out_what_differs_between_threads) {
  Schedule values(tiles_of_rows("A[vk, vj] + T.float32(vt)", "i < 6"));
  EXPECT_EQ(error_of([&] { bind(values, get_loop(values, "i"), "threadIdx.x"); }),
            "step_keeps_results: bind: results would change: iterations of loop i depend on each "
            "other: iteration "
            "i=0, k=0, j=0 writes S[0], iteration i=1, k=0, j=0 writes it");
  Schedule extents(tiles_of_rows("A[vk, vj]", "i < 6"));
  const auto [j_0, j_1] = split(extents, get_loop(extents, "j"), {infer, 4}).take<2>();
  bind(extents, get_loop(extents, "i"), "threadIdx.x");
  EXPECT_EQ(error_of([&] { bind(extents, j_1, "threadIdx.x"); }),
            "thread_axis_is_free: bind: loop i is bound to threadIdx.x, and one of it and loop j_1 "
            "is inside the other");
}

/// A later step may not put into the loop what only one thread would do.
TEST(thread_axes, share_out_fills_alone) {
  const auto func = program(R"(A: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32"))", R"(
S = T.alloc_buffer((8,), scope="shared")
P = T.alloc_buffer((8,), scope="local")
for i in range(8):
    for j in range(8):
        with T.block("S"):
            vj = T.axis.spatial(8, j)
            S[vj] = A[vj]
    for j in range(8):
        with T.block("P"):
            vj = T.axis.spatial(8, j)
            P[vj] = S[vj] * T.float32(2)
    for k in range(8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = P[7 - vk] * T.float32(vi)
)");
  Schedule sch(func);
  const auto [i, j] = get_loops(sch, get_block(sch, "S")).take<2>();
  bind(sch, i, "threadIdx.x");
  bind(sch, j, "threadIdx.x");
  EXPECT_EQ(error_of([&] { reverse_compute_at(sch, get_block(sch, "P"), j); }),
            "step_keeps_results: reverse_compute_at: results would change: loop j, bound to "
            "threadIdx.x inside of "
            "loop i, which is so, too, would not only fill memory that all these threads fill "
            "alike");
  expect_result(sch, func);
}

/// A shared tile that is filled from memory which each thread fills for itself.
Ptr<PrimFunc> tiles_of_own_values(std::string_view own) {
  return program(R"(A: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32"))",
                 fmt::format(R"(
P = T.alloc_buffer((8,), scope="local")
S = T.alloc_buffer((8,), scope="shared")
for i in range(8):
    for k in range(4):
        for l in range(8):
            with T.block("P"):
                vl = T.axis.spatial(8, l)
                vk = T.axis.opaque(4, k)
                vt = T.axis.opaque(8, i)
                {}
        for j in range(8):
            with T.block("S"):
                vj = T.axis.spatial(8, j)
                vk = T.axis.opaque(4, k)
                S[vj] = P[7 - vj] + A[vk, vj]
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.spatial(4, k)
            D[vk, vi] = S[7 - vi]
)",
                             own));
}

TEST(thread_axes, share_out_what_comes_from_memory_of_each) {
  const auto func = tiles_of_own_values("P[vl] = A[vk, vl] * T.float32(2)");
  Schedule sch(func);
  bind(sch, get_loop(sch, "i"), "threadIdx.x");
  expect_result(sch, func);
  bind(sch, get_loop(sch, "j"), "threadIdx.x");
  EXPECT_EQ(obligations_of(sch), "");
  expect_result(sch, func);
  // What fills it is no work to share out: each thread reads all of it.
  EXPECT_EQ(error_of([&] { bind(sch, get_loop(sch, "l"), "threadIdx.x"); }),
            "thread_axis_is_free: bind: loop i is bound to threadIdx.x, and one of it and loop l "
            "is inside the other");
}

/// Shared memory is filled from shared memory, and from what a thread needs in its own iteration.
TEST(thread_axes, share_out_what_comes_from_tiles) {
  const auto func = program(R"(A: T.Buffer((8,), "float32"), D: T.Buffer((8, 8), "float32"))", R"(
P = T.alloc_buffer((8,), scope="local")
S = T.alloc_buffer((8,), scope="shared")
U = T.alloc_buffer((8,), scope="shared")
for i in range(8):
    for j in range(8):
        with T.block("S"):
            vj = T.axis.spatial(8, j)
            S[vj] = A[vj]
    for l in range(8):
        with T.block("P"):
            vl = T.axis.spatial(8, l)
            P[vl] = S[7 - vl] * T.float32(2)
        with T.block("U"):
            vl = T.axis.spatial(8, l)
            U[vl] = P[vl] + T.float32(1)
    for k in range(8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = U[7 - vk] * T.float32(vi)
)");
  Schedule sch(func);
  for (const char* loop : {"i", "j", "l"}) {
    bind(sch, get_loop(sch, loop), "threadIdx.x");
    expect_result(sch, func);
  }
  EXPECT_EQ(obligations_of(sch), "");
}

TEST(thread_axes, do_not_share_out_what_comes_from_values_of_a_thread) {
  constexpr auto by_another_name = R"(W = T.match_buffer(P[vl], (1,), scope="local")
                W[0] = T.float32(vt))";
  for (const char* own : {
           "P[vl] = A[vk, vl] * T.float32(vt)",                  // Depends on the thread,
           "P[vl] = A[vk, T.min(vl, vt)]",                       // by an index,
           "if vt < 4:\n                    P[vl] = A[vk, vl]",  // or a condition.
           by_another_name,
           "P[vl] = P[vl] + A[vk, vl]",                                 // Reads what was before.
           "P[vl] = T.if_then_else(vl == 0, T.float32(vt), P[vl - 1])"  // Hands on what differs.
       }) {
    Schedule sch(tiles_of_own_values(own));
    EXPECT_FALSE(bind.can_apply(sch, {.loop = get_loop(sch, "i"), .thread_axis = "threadIdx.x"}))
        << own;
  }
}

/// Steps on what a tile comes from leave it equal in all threads.
TEST(thread_axes, share_out_what_comes_from_memory_that_steps_change) {
  const auto func = program(R"(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"))", R"(
Q = T.alloc_buffer((8,), scope="local")
P = T.alloc_buffer((8,), scope="local")
S = T.alloc_buffer((8,), scope="shared")
for i in range(8):
    for l in range(8):
        with T.block("Q"):
            vl = T.axis.spatial(8, l)
            Q[vl] = A[0, vl]
    for l in range(8):
        with T.block("P"):
            vl = T.axis.spatial(8, l)
            P[vl] = Q[vl] * T.float32(2)
    for j in range(8):
        with T.block("S"):
            vj = T.axis.spatial(8, j)
            S[vj] = P[7 - vj]
    for k in range(8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = S[7 - vk] * T.float32(vi)
)");
  Schedule sch(func);
  const auto [i, j] = get_loops(sch, get_block(sch, "S")).take<2>();
  bind(sch, i, "threadIdx.x");
  bind(sch, j, "threadIdx.x");
  set_scope(sch, get_block(sch, "Q"), BufferSelector(0), "shared");
  expect_result(sch, func);
  compute_inline(sch, get_block(sch, "Q"));
  expect_result(sch, func);
}

/// Threads make the values that they reduce.
TEST(thread_memory, is_reduced_in_the_loop_that_fills_it) {
  const auto func = program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((4,), "float32"))", R"(
P = T.alloc_buffer((8, 4), scope="local")
for i in range(4):
    for k in range(8):
        with T.block("P"):
            vi, vk = T.axis.remap("SS", [i, k])
            P[vk, vi] = A[vk, vi] * A[vk, vi]
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + P[vk, vi]
)");
  Schedule sch(func);
  bind(sch, get_loop(sch, "k"), "threadIdx.x");
  expect_result(sch, func);
}

}  // namespace
}  // namespace loopsmith
