// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/concurrent_loops.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

std::string obligations_of(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Refusal& refusal : obligations(schedule)) texts.push_back(explain(schedule, refusal));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// B is computed, C reads three of its columns at a time, D reads C.
Ptr<PrimFunc> blur() {
  return program(R"(A: T.Buffer((6, 10), "float32"), D: T.Buffer((6, 8), "float32"))", R"(
B = T.alloc_buffer((6, 10))
C = T.alloc_buffer((6, 8))
for i, j in T.grid(6, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * T.float32(2)
for i, j in T.grid(6, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi, vj + 1] * B[vi, vj + 2]
for i, j in T.grid(6, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, vj] + T.float32(1)
)");
}

TEST(concurrent_loops, have_what_they_recompute_each_for_itself) {
  const auto func = blur();
  Schedule sch(func);
  const LoopRV tile = split(sch, get_loops(sch, get_block(sch, "C"))[1], {infer, 3})[0];
  compute_at(sch, get_block(sch, "B"), tile);
  parallel(sch, tile);
  expect_result(sch, func);
  // The other order is the same.
  Schedule later(func);
  const LoopRV again = split(later, get_loops(later, get_block(later, "C"))[1], {infer, 3})[0];
  parallel(later, again);
  compute_at(later, get_block(later, "B"), again);
  expect_result(later, func);
}

TEST(concurrent_loops, keep_readers_of_what_is_theirs) {
  const auto func = blur();
  Schedule sch(func);
  const LoopRV j = get_loops(sch, get_block(sch, "C"))[1];
  compute_at(sch, get_block(sch, "B"), j);
  parallel(sch, j);
  const BlockRV c = get_block(sch, "C");
  EXPECT_FALSE(compute_inline.can_apply(sch, {.block = c}));
  EXPECT_EQ(error_of([&] { compute_inline(sch, c); }),
            "step_keeps_results: compute_inline: results would change: iterations of loop j, which "
            "is parallel, "
            "would depend on each other: iteration i=0, "
            "j=0, ax0=1 writes B[0, 1], iteration i=0, j=1, ax0=0 writes it");
  expect_result(sch, func);
}

TEST(concurrent_loops, are_not_fused_into_part_of_a_reduction) {
  const auto func = program(R"(A: T.Buffer((18, 4), "float32"), C: T.Buffer((18,), "float32"))", R"(
for i in T.parallel(18):
    for k in T.parallel(4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(2)
            C[vi] = C[vi] + A[vi, vk]
)");
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { fuse(sch, {loops[0], loops[1]}); }),
            "step_keeps_results: fuse: results would change: iterations of loop i_k_fused, which "
            "is parallel, would "
            "depend on each other: iteration i_k_fused=0 writes "
            "C[0], "
            "iteration i_k_fused=1 reads it");
}

TEST(concurrent_loops, do_not_take_in_loops_that_carry_dependences) {
  const auto func = program(R"(A: T.Buffer((6, 8), "float32"))", R"(
for i in range(1, 6):
    for j in range(1, 8):
        A[i, j] = A[i - 1, j - 1] + T.float32(1)
)");
  Schedule sch(func);
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  parallel(sch, j);
  EXPECT_EQ(error_of([&] { reorder(sch, {j, i}); }),
            "step_keeps_results: reorder: results would change: iterations of loop j, which is "
            "parallel, would "
            "depend on each other: iteration j=1, i=1 writes "
            "A[1, 1], iteration j=2, i=2 reads it");
  // Nobody is asked for more than was so before.
  Schedule trusted(func);
  For& loop = trusted.edit(get_loop(trusted, "i"));
  loop.kind = ForKind::parallel;
  reorder(trusted, {get_loop(trusted, "j"), get_loop(trusted, "i")});
}

TEST(concurrent_loops, leave_their_reductions_alone) {
  const auto func = program(R"(A: T.Buffer((7, 6), "float32"), B: T.Buffer((7,), "float32"))", R"(
for i, k in T.grid(7, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
)");
  Schedule sch(func);
  const LoopRV k = get_loop(sch, "k");
  parallel(sch, k);
  EXPECT_EQ(error_of([&] {
              write_at(sch, k, get_block(sch, "B"), BufferSelector(0), "shared");
            }).substr(0, 96),
            "step_keeps_results: write_at: results would change: iterations of loop k, which is "
            "parallel, wou");
  expect_result(sch, func);
}

TEST(concurrent_loops, reduce_with_an_init_inside_alone) {
  const auto func = program(R"(A: T.Buffer((7, 6), "float32"), B: T.Buffer((7,), "float32"))", R"(
for i, k in T.grid(7, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
)");
  Schedule sch(func);
  const auto [i, k] = get_loops(sch, get_block(sch, "B")).take<2>();
  bind(sch, k, "threadIdx.x");
  EXPECT_EQ(error_of([&] { blockize(sch, i); }),
            "step_keeps_results: blockize: results would change: iterations of loop k, which is "
            "threadIdx.x, would "
            "depend on each other: iteration i=0, k=0 reads B[0], "
            "iteration i=0, k=1 writes it");
  expect_result(sch, func);
}

TEST(concurrent_loops, keep_from_new_conflicts_beside_one_that_was_there) {
  // That each iteration writes all of S before it reads it is not seen through the guard.
  const auto func = program(
      R"(A: T.Buffer((12, 12), "float32"), B: T.Buffer((12, 12), "float32"), C: T.Buffer((12, 12), "float32"))",
      R"(
S = T.alloc_buffer((12,))
for i, j in T.grid(12, 12):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vj, vi]
for p in T.parallel(12):
    for i, j, k in T.grid(12, 2, 8):
        with T.block("S"):
            vi = T.axis.spatial(12, i)
            vj = T.axis.reduce(12, j * 8 + k)
            T.where(j * 8 + k < 12)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = T.max(S[vi], B[vi, vj])
    for i in range(12):
        with T.block("C"):
            vi, vp = T.axis.remap("SS", [i, p])
            C[vi, vp] = B[vi, vp] - S[vi]
)");
  Schedule sch(func);
  EXPECT_EQ(error_of([&] { compute_at(sch, get_block(sch, "B"), get_loop(sch, "p")); }),
            "step_keeps_results: compute_at: results would change: iterations of loop p, which is "
            "parallel, would "
            "depend on each other: iteration p=0, ax0=0, ax1=0 "
            "writes B[0, 0], iteration p=1, ax0=0, ax1=0 writes it");
}

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

/// Each iteration of j takes what the block around it allocates.
Ptr<PrimFunc> keeps_in(std::string_view scope) {
  return program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32"))",
                 fmt::format(R"(
for i in range(8):
    with T.block("row"):
        vi = T.axis.spatial(8, i)
        B = T.alloc_buffer((8,), scope="{}")
        for j in range(4):
            with T.block("B"):
                B[vi] = A[vi, j]
            with T.block("C"):
                C[vi, j] = B[vi]
)",
                             scope));
}

TEST(concurrent_loops, have_memory_around_them_each_for_itself_if_it_is_of_one) {
  const auto run_concurrently = [](Schedule& sch, std::string_view how) {
    const LoopRV j = get_loop(sch, "j");
    if (how == "parallel") {
      parallel(sch, j);
    } else if (how == "vectorize") {
      vectorize(sch, j);
    } else {
      bind(sch, j, std::string(how));
    }
  };
  const std::pair<const char*, std::set<std::string_view>> own[] = {
      {"local", {"parallel", "vectorize", "blockIdx.x", "threadIdx.x"}},
      {"global", {"parallel", "vectorize"}},
      {"shared", {"blockIdx.x"}},
      {"warp", {"blockIdx.x"}}};
  for (const auto& [scope, accepted] : own) {
    for (const std::string_view how : {"parallel", "vectorize", "blockIdx.x", "threadIdx.x"}) {
      const auto func = keeps_in(scope);
      Schedule sch(func);
      SCOPED_TRACE(fmt::format("{}, {}", scope, how));
      if (accepted.contains(how)) {
        run_concurrently(sch, how);
        expect_result(sch, func);
        continue;
      }
      const std::string primitive(how.find('.') == how.npos ? how : "bind");
      const std::string witness =
          how == "vectorize" ? "iteration i=0, j=0 reads B[0], iteration i=0, j=1 writes it"
                             : "iteration i=0, j=0 writes B[0], iteration i=0, j=1 writes it";
      EXPECT_EQ(
          error_of([&] { run_concurrently(sch, how); }),
          fmt::format(
              "step_keeps_results: {}: results would change: iterations of loop j depend on each "
              "other: {}",
              primitive, witness));
    }
  }
}

TEST(concurrent_loops, keep_what_they_have_each_for_itself) {
  Schedule sch(keeps_in("local"));
  vectorize(sch, get_loop(sch, "j"));
  EXPECT_EQ(error_of([&] { set_scope(sch, get_block(sch, "B"), 0, "shared"); }).substr(0, 18),
            "step_keeps_results");
}

TEST(concurrent_loops, are_counted_through_all_that_changes_them) {
  Schedule sch(matmul());
  EXPECT_FALSE(sch.has_concurrent_loops());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  vectorize(sch, j);
  EXPECT_TRUE(sch.has_concurrent_loops());
  Schedule copy = sch.copy();
  const auto [j_0, j_1] = split(sch, j, {infer, 8}).take<2>();
  EXPECT_TRUE(sch.has_concurrent_loops());
  unroll(sch, j_1);
  EXPECT_FALSE(sch.has_concurrent_loops());
  sch.check_tree();
  EXPECT_TRUE(copy.has_concurrent_loops());
  copy.undo();
  EXPECT_FALSE(copy.has_concurrent_loops());
  parallel(copy, get_loops(copy, get_block(copy, "C"))[0]);
  copy.check_tree();
  EXPECT_TRUE(copy.has_concurrent_loops());
}

TEST(concurrent_loops, are_looked_at_again_in_nests_that_changed) {
  Schedule sch(blur());
  parallel(sch, get_loops(sch, get_block(sch, "B"))[0]);
  const Schedule before = sch.snapshot();
  const auto c = get_loops(sch, get_block(sch, "C"));
  reorder(sch, {c[1], c[0]});
  const NodeId b = sch.node(get_block(sch, "B"));
  EXPECT_TRUE(sch.is_same_in(before, b));
  EXPECT_FALSE(sch.is_same_in(before, sch.node(c[0])));
  EXPECT_FALSE(refuse_new_conflicts(before, sch).has_value());
}

TEST(concurrent_loops, need_no_new_answer_for_steps_inside_of_their_iterations) {
  for (const bool asks_all : {false, true}) {
    const auto before = matmul(16, 8, 12);
    Schedule sch(before);
    sch.verify_quick_answers(asks_all);
    const auto c = get_block(sch, "C");
    const auto loops = get_loops(sch, c);
    bind(sch, loops[0], "blockIdx.x");
    bind(sch, loops[1], "threadIdx.x");
    reverse_compute_at(sch, cache_write(sch, c, 0, "local"), loops[1]);
    const auto [k_0, k_1, k_2] = split(sch, loops[2], {infer, 3, 2}).take<3>();
    const LoopRV inner = fuse(sch, {k_1, k_2});
    decompose_reduction(sch, c, k_0);
    fuse(sch, {k_0, inner});
    expect_result(sch, before);
  }
}

TEST(concurrent_loops, are_asked_again_where_they_reduce) {
  Schedule sch(matmul(16, 8, 12));
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  const auto [k_0, k_1] = split(sch, loops[2], {infer, 4}).take<2>();
  reorder(sch, {loops[0], k_0, loops[1], k_1});
  bind(sch, k_0, "threadIdx.x");
  // A loop bound to axes of both kinds leaves no partial results.
  EXPECT_EQ(error_of([&] { fuse(sch, {loops[1], k_1}); }).substr(0, 44),
            "step_keeps_results: fuse: results would chan");
}

TEST(concurrent_loops, share_a_result_that_one_of_their_iterations_starts_for_all) {
  const auto refused = [](std::string_view start) {
    Schedule sch(
        program(R"(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"))", fmt::format(R"(
C = T.alloc_buffer((1,), "int32")
for i in range(0, 4, 2):
    for k in range({}, 4):
        with T.block("sum"):
            vk = T.axis.reduce(4, k)
            with T.init():
                C[0] = 0
            C[0] = C[0] + A[vk]
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        B[vi] = C[0]
)",
                                                                                         start)));
    sch.verify_quick_answers(true);
    return error_of([&] { parallel(sch, get_loop(sch, "i")); });
  };
  EXPECT_EQ(refused("0"), "");
  // Sums that start at 2 go on with what the iteration before left.
  EXPECT_EQ(refused("i"),
            "step_keeps_results: parallel: results would change: iterations of loop i depend on "
            "each other: "
            "iteration i=0, k=0 writes C[0], iteration i=2 reads it");
}

}  // namespace
}  // namespace loopsmith
