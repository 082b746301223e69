// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/concurrent_loops.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "loopsmith/schedule/legality/concurrent_loops_test.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

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

TEST(concurrent_loops, keep_lanes_in_step_with_each_other) {
  const auto func = program(R"(A: T.Buffer((4,), "float32"))", R"(
for i in range(4):
    for j in range(i):
        A[i] = A[j]
)");
  Schedule sch(func);
  const LoopRV j = get_loop(sch, "j");
  vectorize(sch, get_loop(sch, "i"));
  // Halves of other lengths in each lane: lane 3 reads A[2] before lane 2 has written it.
  EXPECT_EQ(error_of([&] { split(sch, j, {2, infer}); }),
            "step_keeps_results: split: results may change: whether iterations of loop i, which is "
            "vectorized, would depend on each other is unknown, as index 0 of A is not "
            "quasi-affine: j_0 * ((i + 1) // 2) + j_1");
  split(sch, j, {infer, 2});
  expect_result(sch, func);
}

TEST(concurrent_loops, do_not_reduce_in_lanes_what_starts_late) {
  // In order, the init forgets what the iterations before it did.
  for (const std::string_view axis :
       {"for k in range(4):\n    with T.block('C'):\n        vk = T.axis.reduce(4, 3 - k)",
        "for k in range(3, -1, -1):\n    with T.block('C'):\n        vk = T.axis.reduce(4, k)",
        "for k in range(4):\n    with T.block('C'):\n        vk = T.axis.reduce(4, A[k])"}) {
    Schedule sch(
        program("A: T.Buffer((4,), 'int32'), C: T.Buffer((1,), 'int32')", fmt::format(R"({}
        with T.init():
            C[0] = 1
        C[0] = C[0] + A[vk]
)",
                                                                                      axis)));
    EXPECT_TRUE(error_of([&] {
                  vectorize(sch, get_loop(sch, "k"));
                }).starts_with("step_keeps_results: vectorize: results"))
        << axis;
  }
}

TEST(concurrent_loops, read_what_decides_on_their_blocks) {
  const auto func = program("B: T.Buffer((5,), 'int32')", R"(
C = T.alloc_buffer((5,), "int32")
for i in range(5):
    with T.block("C"):
        vi = T.axis.spatial(5, 4 - i)
        T.where(T.if_then_else(i >= 4, C[i], 0) < 2)
        T.reads(B[vi])
        T.writes(C[vi])
        C[vi] = B[vi]
)");
  Schedule sch(func);
  EXPECT_TRUE(error_of([&] {
                parallel(sch, get_loop(sch, "i"));
              }).starts_with("step_keeps_results: parallel: results"));
}

TEST(concurrent_loops, start_each_result_once) {
  const auto func = program(R"(B: T.Buffer((2,), "int32"), C: T.Buffer((2,), "int32"))", R"(
for k in range(2):
    for i in range(2):
        with T.block("C"):
            vk = T.axis.reduce(2, k)
            vi = T.axis.spatial(2, B[i] % 2)
            T.reads()
            T.writes(C[vi])
            with T.init():
                C[vi] = 1
            C[vi] = C[vi] + 1
)");
  Schedule sch(func);
  EXPECT_EQ(error_of([&] { bind(sch, get_loop(sch, "k"), "threadIdx.x"); }),
            "step_keeps_results: bind: results may change: whether iterations of loop k depend on "
            "each other is unknown, as it runs instances of a reduction more than once");
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
  // No more is asked of a loop than was so before.
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

TEST(concurrent_loops, reduce_what_a_block_around_starts) {
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
  blockize(sch, i);
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

    Schedule rows(before);
    rows.verify_quick_answers(asks_all);
    const auto [i, j, k] = get_loops(rows, get_block(rows, "C")).take<3>();
    parallel(rows, i);
    reorder(rows, {k, j});
    decompose_reduction(rows, get_block(rows, "C"), k);
    expect_result(rows, before);
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

TEST(concurrent_loops, do_not_reduce_in_lanes_what_another_result_is_made_of) {
  Schedule sch(program("A: T.Buffer((8, 8)), B: T.Buffer((1,)), C: T.Buffer((8,))", R"(
for i, k in T.grid(8, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + B[0]
        B[0] = B[0] + A[vi, vk]
)"));
  EXPECT_EQ(error_of([&] { vectorize(sch, get_loop(sch, "k")); }),
            "step_keeps_results: vectorize: results would change: iterations of loop k depend on "
            "each other: iteration i=0, k=0 writes B[0], iteration i=0, k=1 reads it");
}

TEST(concurrent_loops, need_the_start_of_a_result_in_each_iteration) {
  // A condition leaves out the instance that starts the result.
  const auto why = [](std::string_view condition) {
    Schedule sch(program("A: T.Buffer((4,), 'float32'), B: T.Buffer((2,), 'float32')",
                         fmt::format(R"(
C = T.alloc_buffer(())
for i in range(2):
    for k in range(4):
        if {}:
            with T.block("C"):
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[()] = T.float32(0)
                C[()] = C[()] + A[vk]
    B[i] = C[()]
)",
                                     condition)));
    return error_of([&] { parallel(sch, get_loop(sch, "i")); });
  };
  EXPECT_EQ(why("i <= 1"), "");
  EXPECT_EQ(why("i <= k"),
            "step_keeps_results: parallel: results would change: iterations of loop i depend on "
            "each other: iteration i=0, k=0 writes C[], iteration i=1 reads it");
}

TEST(concurrent_loops, are_not_certain_to_conflict_where_they_may_have_before) {
  Schedule sch(program(R"(B: T.Buffer((2, 3, 2), "float32"))", R"(
C = T.alloc_buffer(())
for i in range(2):
    with T.block("B"):
        vi = T.axis.spatial(2, i)
        B[vi, vi, vi] = B[vi, vi, vi] * T.float32(3)
    for k in range(3):
        with T.block("C"):
            vk = T.axis.reduce(3, k)
            with T.init():
                C[()] = B[0, 0, 0]
            C[()] = C[()] + B[0, vk, vk % 2]
)"));
  const LoopRV i = get_loop(sch, "i"), k = get_loop(sch, "k");
  // Of a skewed loop it is not known that the reduction runs each instance once.
  Schedule parallel_first = sch.snapshot();
  parallel(parallel_first, k);
  EXPECT_TRUE(error_of([&] {
                skew(parallel_first, i, k);
              }).starts_with("step_keeps_results: skew: results may change"));
  skew(sch, i, k);
  parallel(sch, k, true);
  EXPECT_EQ(error_of([&] { write_at(sch, k, get_block(sch, "C"), 0, "global"); }).substr(0, 51),
            "step_keeps_results: write_at: results would change:");
}

TEST(concurrent_loops, are_parts_of_a_loop_of_symbolic_extent) {
  for (const std::size_t place : {0, 1}) {
    Schedule sch(program(R"(a: T.handle, b: T.handle)", R"(
n = T.int32()
A = T.match_buffer(a, (n,), "float32")
B = T.match_buffer(b, (n,), "float32")
for i in range(n):
    B[i] = A[i] + T.float32(1)
)"));
    const auto parts = split(sch, get_loop(sch, "i"), {4, infer});
    const LoopRV part = parts[place];
    EXPECT_EQ(error_of([&] { parallel(sch, part); }), "");
  }
  // The last element of each part is the first one of the next.
  Schedule sch(program(R"(a: T.handle)", R"(
n = T.int32()
A = T.match_buffer(a, (n * 4,), "float32")
for i in range(4):
    for j in range((n + 3) // 4 + 1):
        if i * ((n + 3) // 4) + j < n:
            A[i * ((n + 3) // 4) + j] = T.float32(1) + T.Cast("float32", i)
)"));
  const LoopRV outer = get_loop(sch, "i");
  EXPECT_NE(error_of([&] { parallel(sch, outer); }), "");
}

}  // namespace
}  // namespace loopsmith
