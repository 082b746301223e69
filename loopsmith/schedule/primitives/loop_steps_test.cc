// SPDX-License-Identifier: Apache-2.0
// Steps on loops that keep the program: fuse, reorder, loop kinds, axes.
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// The four programs that form-based schedulers refuse.
constexpr const char* shifted = R"(@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    for i_ in range(1, 100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = A[i] + T.float16(1))";
constexpr const char* prefix_sum = R"(@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    B[0] = T.float16(0)
    for i_ in range(99):
        with T.block("block"):
            i = T.axis.remap("R", [i_])
            B[i + 1] = B[i] + A[i + 1])";
constexpr const char* in_place = R"(@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    for i_ in range(100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = B[i] + A[i])";
constexpr const char* with_if = R"(@T.prim_func
def main(A: T.Buffer((100, 100), "float16")):
    for i in range(100):
        if i % 2 == 0:
            for j in range(100):
                with T.block("block1"):
                    A[i, j] = T.float16(1)
        else:
            for j in range(100):
                with T.block("block2"):
                    A[i, j] = T.float16(2))";

TEST(fuse, puts_digits_into_bindings_and_takes_them_out_again) {
  const auto func = two_stages();
  Schedule sch(func);
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const LoopRV fused = fuse(sch, {i, j});
  EXPECT_EQ(sch.name(fused), "i_j_fused");
  EXPECT_NE(body_of(sch).find("v_i = T.axis.spatial(96, i_j_fused // 64)\n"
                              "            v_j = T.axis.spatial(64, i_j_fused % 64)"),
            std::string::npos)
      << body_of(sch);
  split(sch, fused, {infer, 64}, std::vector<std::string>{"a", "b"});
  EXPECT_NE(body_of(sch).find("v_i, v_j = T.axis.remap(\"SS\", [a, b])"), std::string::npos)
      << body_of(sch);
  expect_replays(sch, func);
}

TEST(fuse, joins_the_guard_of_a_split_again) {
  Schedule sch(two_stages());
  const auto [i, j] = get_loops(sch, get_block(sch, "C")).take<2>();
  const auto parts = split(sch, j, {infer, 24});
  fuse(sch, parts);
  EXPECT_NE(body_of(sch).find("v_j = T.axis.spatial(64, j_0_j_1_fused)\n"
                              "            T.where(j_0_j_1_fused < 64)"),
            std::string::npos)
      << body_of(sch);
}

TEST(fuse, refuses_what_is_no_nest) {
  Schedule sch(two_stages());
  const auto first = get_loops(sch, get_block(sch, "B"));
  const auto second = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { fuse(sch, {first[0], second[1]}); }),
            "nest_is_perfect: fuse: outer loop i is not the parent of the inner loop j");
  EXPECT_EQ(error_of([&] { fuse(sch, {}); }),
            "arguments_fit: fuse: 0 loops are given, 1 or more are needed");
  unroll(sch, first[1]);
  EXPECT_EQ(error_of([&] { fuse(sch, {first[0], first[1]}); }),
            "loop_is_serial: fuse: loop i is serial, loop j is unrolled");
}

TEST(reorder, changes_the_order_of_a_matrix_product) {
  const auto func = matmul();
  Schedule sch(func);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  reorder(sch, {k, i});
  EXPECT_NE(body_of(sch).find("for k, j, i in T.grid(64, 96, 128):"), std::string::npos);
  EXPECT_EQ(error_of([&] { reorder(sch, {k, k}); }),
            "arguments_fit: reorder: loop k appears in the input array for multiple times");
  expect_replays(sch, func);
}

TEST(reorder, shows_which_dependence_forbids_it) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((12, 14), "float32")):
    for i in range(1, 11):
        for j in range(1, 13):
            A[i, j] = A[i - 1, j + 1])"));
  EXPECT_EQ(error_of([&] { reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")}); }),
            "step_keeps_results: reorder: results would change: loop j would run before what it "
            "depends on: iteration i=1, j=2 "
            "writes A[1, 2], iteration i=2, j=1 reads it");
}

TEST(reorder, sees_what_a_block_without_axes_does_with_loops) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((7, 9), "float32")):
    for t in range(3):
        for i in range(1, 6):
            for j in range(1, 6):
                with T.block("s"):
                    A[i, j] = A[i - 1, j] + A[i, j + 1])");
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "s"));
  EXPECT_EQ(error_of([&] { reorder(sch, {loops[1], loops[0]}); }),
            "step_keeps_results: reorder: results would change: loop i would run before what it "
            "depends on: iteration t=0, i=2, j=1 reads A[1, 1], iteration t=1, i=1, j=1 writes it");
  reorder(sch, {loops[2], loops[1]});
  expect_result(sch, func);
}

TEST(reorder, moves_what_each_iteration_has_for_itself) {
  const auto func = [](std::string_view first) {
    return parse_function(fmt::format(R"(@T.prim_func
def main(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6, 7), "float32")):
    T_1 = T.alloc_buffer((2,))
    for i in range(6):
        for j in range(7):
            {}
                T_1[0] = A[i, j]
            for k in range(3):
                T_1[0] = T_1[0] * T_1[0]
            B[i, j] = T_1[0])",
                                      first));
  };
  const auto scratch = func("for once in range(1):");
  Schedule sch(scratch);
  reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")});
  expect_result(sch, scratch);
  expect_replays(sch, scratch);
  Schedule other(func("if j == 0:"));
  EXPECT_EQ(error_of([&] { reorder(other, {get_loop(other, "j"), get_loop(other, "i")}); }),
            "step_keeps_results: reorder: results would change: loop j would run before what it "
            "depends on: iteration i=0, "
            "j=1, k=0 reads T_1[0], iteration i=1, j=0 writes it");
}

TEST(loop_kinds, keep_lanes_in_step_with_loops_inside) {
  const auto func = parse_function(R"(@T.prim_func
def main(B: T.Buffer((9, 9), "float32")):
    for i in range(1, 8):
        for j in range(8):
            B[i, j] = B[i - 1, j + 1] + T.float32(1))");
  for (const bool inner_first : {false, true}) {
    Schedule sch(func);
    const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
    if (inner_first) {
      vectorize(sch, j);
      EXPECT_EQ(error_of([&] { vectorize(sch, i); }),
                "step_keeps_results: vectorize: results would change: iterations of loop i depend "
                "on each other: "
                "iteration i=1, j=1 writes B[1, 1], iteration i=2, j=0 reads it");
    } else {
      EXPECT_EQ(error_of([&] { vectorize(sch, i); }),
                "step_keeps_results: vectorize: results would change: iterations of loop i depend "
                "on each other: "
                "iteration i=1, j=1 writes B[1, 1], iteration i=2, j=0 reads it");
      vectorize(sch, j);
    }
    expect_result(sch, func);
  }
  // Columns from left to right: one step later, each row reads what the row above wrote.
  const auto lags = parse_function(R"(@T.prim_func
def main(B: T.Buffer((9, 9), "float32")):
    for i in range(1, 8):
        for j in range(1, 8):
            B[i, j] = B[i - 1, j - 1] + T.float32(1))");
  Schedule sch(lags);
  vectorize(sch, get_loop(sch, "i"));
  EXPECT_EQ(error_of([&] { vectorize(sch, get_loop(sch, "j")); }),
            "step_keeps_results: vectorize: results would change: iterations of loop i, which is "
            "vectorized, would "
            "depend on each other: iteration i=1, j=1 writes "
            "B[1, 1], iteration i=2, j=2 reads it");
  expect_result(sch, lags);
}

TEST(loop_kinds, take_parts_of_a_wavefront) {
  const auto func = parse_function(R"(@T.prim_func
def main(L: T.Buffer((25, 25), "int32")):
    for d in range(2, 49):
        for i in range(T.max(1, d - 24), T.min(25, d)):
            L[i, d - i] = T.max(L[i - 1, d - i - 1], T.max(L[i - 1, d - i], L[i, d - i - 1]) - 1))");
  Schedule sch(func);
  const auto [parts, lanes] = split(sch, get_loop(sch, "i"), {infer, 8}).take<2>();
  parallel(sch, parts);
  vectorize(sch, lanes);
  expect_result(sch, func);
}

TEST(reorder, keeps_the_init_of_a_reduction_before_its_updates) {
  Schedule sch(matmul());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const LoopRV both = fuse(sch, {j, k});
  reorder(sch, {both, i});  // Each C[i, j] still has its updates in their order.
  const auto [outer, inner] = split(sch, both, {infer, 3}).take<2>();
  EXPECT_EQ(error_of([&] { reorder(sch, {inner, outer}); }),
            "step_keeps_results: reorder: results may change: whether the new order of loops "
            "j_k_fused_1, "
            "j_k_fused_0 keeps dependences is unknown, as the init of a reduction may then come "
            "after its updates");
}

TEST(reorder, refuses_loops_of_other_nests_and_bounds_that_depend) {
  Schedule sch(two_stages());
  const auto first = get_loops(sch, get_block(sch, "B"));
  const auto second = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { reorder(sch, {first[0], second[1]}); }),
            "loop_is_around_loop: reorder: loop i is not around loop j");
  Schedule triangle(parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32")):
    for i in range(12):
        for j in range(i):
            with T.block("A"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    A[vi] = T.float32(0)
                A[vi] = A[vi] + T.float32(1))"));
  EXPECT_EQ(
      error_of([&] { reorder(triangle, {get_loop(triangle, "j"), get_loop(triangle, "i")}); }),
      "bounds_are_independent: reorder: the bounds of loop j depend on loop i, which would be "
      "inside it");
}

TEST(loop_kinds, take_programs_of_any_form) {
  for (const char* program : {shifted, in_place}) {
    const auto func = parse_function(program);
    Schedule sch(func);
    const auto [outer, inner] = split(sch, get_loop(sch, "i_"), {infer, 8}).take<2>();
    parallel(sch, outer);
    vectorize(sch, inner);
    EXPECT_EQ(sch.get(outer).kind, ForKind::parallel);
    expect_replays(sch, func);
  }
  Schedule sch(parse_function(with_if));
  parallel(sch, get_loop(sch, "i"));
  for (const LoopRV j : sch.loops_named(0, "j")) {
    vectorize(sch, split(sch, j, {infer, 8})[1]);
  }
  body_of(sch);
}

TEST(loop_kinds, show_what_a_scan_carries) {
  Schedule sch(parse_function(prefix_sum));
  const auto [outer, inner] = split(sch, get_loop(sch, "i_"), {infer, 8}).take<2>();
  unroll(sch, inner);
  EXPECT_EQ(error_of([&] { parallel(sch, outer); }).substr(0, 95),
            "step_keeps_results: parallel: results would change: iterations of loop i__0 depend on "
            "each othe");
  Schedule plain(parse_function(prefix_sum));
  EXPECT_EQ(error_of([&] { vectorize(plain, get_loop(plain, "i_")); }),
            "step_keeps_results: vectorize: results would change: iterations of loop i_ depend on "
            "each other: "
            "iteration i_=0 writes B[1], iteration i_=1 reads it");
}

TEST(loop_kinds, run_a_known_reduction_in_parallel) {
  const auto func = matmul();
  Schedule sch(func);
  parallel(sch, get_loops(sch, get_block(sch, "C"))[2]);
  expect_result(sch, func);
}

TEST(loop_kinds, reduce_by_threads_but_not_by_blocks) {
  const auto func = matmul(4, 6, 16);
  Schedule sch(func);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  EXPECT_EQ(error_of([&] { bind(sch, k, "blockIdx.x"); }),
            "step_keeps_results: bind: results would change: loop k is a reduction: iteration i=0, "
            "j=0, k=0 writes C[0, "
            "0], iteration i=0, j=0, k=1 reads it");
  bind(sch, i, "blockIdx.x");
  bind(sch, k, "threadIdx.x");
  expect_result(sch, func);
  // Results that each thread has for itself cannot be combined.
  EXPECT_NE(error_of([&] { cache_write(sch, get_block(sch, "C"), BufferSelector(0), "local"); }),
            "");
}

TEST(loop_kinds, refuse_unknown_threads) {
  Schedule sch(matmul());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  EXPECT_EQ(error_of([&] { bind(sch, i, "blockIdx.w"); }),
            "name_is_known: bind: there is no thread axis blockIdx.w");
  bind(sch, i, "blockIdx.x");
  vectorize(sch, k);
  EXPECT_EQ(sch.get(i).thread_binding->thread_tag, "blockIdx.x");
}

TEST(loop_kinds, say_what_is_unknown_and_believe_the_user) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((100,), "float32"), P: T.Buffer((100,), "int32")):
    for i in range(100):
        A[P[i]] = T.float32(1))"));
  const LoopRV i = get_loop(sch, "i");
  EXPECT_NE(error_of([&] { parallel(sch, i); }), "");
  parallel(sch, i, true);
  EXPECT_NE(sch.trace().text().find("sch.parallel(loop=l0, assume_independent=True)"),
            std::string::npos);
}

TEST(annotate, keeps_what_is_there_and_takes_it_away) {
  const auto func = matmul();
  Schedule sch(func);
  const BlockRV block = get_block(sch, "C");
  annotate(sch, block, "note", "first");
  annotate(sch, block, "note", "second");
  EXPECT_EQ(sch.get(block).annotations.get_string("note"), "first");
  annotate(sch, block, "flag", true);
  expect_replays(sch, func);
  unannotate(sch, block, "note");
  EXPECT_EQ(error_of([&] { unannotate(sch, block, "note"); }),
            "name_is_known: unannotate: C has no annotation note");
}

TEST(reorder_block_iter_var, lists_axes_in_another_order) {
  Schedule sch(matmul());
  const BlockRV block = get_block(sch, "C");
  reorder_block_iter_var(sch, block, {2, 0, 1});
  EXPECT_NE(body_of(sch).find("v_k, v_i, v_j = T.axis.remap(\"RSS\", [k, i, j])"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { reorder_block_iter_var(sch, block, {0, 0, 1}); }),
            "arguments_fit: reorder_block_iter_var: [0, 0, 1] is no permutation of the 3 "
            "axes of block C");
}

TEST(relatives, are_found) {
  Schedule sch(two_stages());
  const BlockRV b = get_block(sch, "B"), c = get_block(sch, "C"), root = get_block(sch, "root");
  EXPECT_EQ(get_consumers(sch, b), Handles<BlockRV>{c});
  EXPECT_EQ(get_producers(sch, c), Handles<BlockRV>{b});
  EXPECT_EQ(get_output_blocks(sch, root), Handles<BlockRV>{c});
  EXPECT_EQ(get_child_blocks(sch, root), (Handles<BlockRV>{b, c}));
  EXPECT_EQ(get_loops(sch, c, "j*").size(), 1U);
  EXPECT_EQ(error_of([&] { get_block(sch, "X"); }),
            "name_is_known: get_block: Cannot find a block with the name: X");
  EXPECT_EQ(error_of([&] { get_loop(sch, "i"); }),
            "name_is_unique: get_loop: 2 loops are called i");
  const BlockRV outer = blockize(sch, get_loops(sch, c)[0]);
  EXPECT_EQ(get_output_blocks(sch, root), (Handles<BlockRV>{outer, c}));
}

TEST(fuse, takes_loops_that_do_not_run) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((4, 1), "float32")):
    for i, j, k in T.grid(4, 0, 2):
        with T.block("A"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            A[vi, 0] = T.float32(1))");
  Schedule sch(func);
  fuse(sch, get_loops(sch, get_block(sch, "A")));
  expect_result(sch, func);
}

TEST(loop_steps, fuse_refuses_domains_of_loops_by_which_it_would_divide) {
  Schedule sch(program(R"(A: T.Buffer((1, 1), "uint32"))", R"(
for i in range(1):
    for j in range(i):
        for k in range(j + 1):
            with T.block("A"):
                vi = T.axis.spatial(1, i)
                vj = T.axis.reduce(1, j)
                vk = T.axis.reduce(j, k)
                with T.init():
                    A[0, vi] = T.uint32(0)
                A[0, vi] = T.uint32(0)
)"));
  const std::string error = error_of([&] { fuse(sch, {get_loop(sch, "j"), get_loop(sch, "k")}); });
  EXPECT_EQ(error.substr(0, error.find(':')), "step_keeps_results");
}

}  // namespace
}  // namespace loopsmith
