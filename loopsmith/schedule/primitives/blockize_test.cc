// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/blockize.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto stages_parameters =
    R"(A: T.Buffer((96, 64), "float32"), C: T.Buffer((96, 64), "float32"))";

TEST(blockize, leaves_axes_of_outer_loops_outside) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto j = get_loops(sch, c)[1];
  const auto outer = blockize(sch, j);
  EXPECT_EQ(sch.name(outer), "C_o");
  EXPECT_EQ(sch.name(c), "C");
  EXPECT_EQ(get_loops(sch, c)[0], j);
  EXPECT_EQ(get_child_blocks(sch, outer)[0], c);
  expect_result(sch, before, program(stages_parameters, R"(
B = T.alloc_buffer((96, 64))
for i, j in T.grid(96, 64):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i in range(96):
    with T.block("C_o"):
        vi = T.axis.spatial(96, i)
        vj_o = T.axis.spatial(1, 0)
        T.reads(B[vi, 0:64])
        T.writes(C[vi, 0:64])
        for j in range(64):
            with T.block("C"):
                vj = T.axis.spatial(64, j)
                C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

TEST(blockize, drops_unit_axes_when_asked_to) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto outer = blockize(sch, get_loops(sch, get_block(sch, "C"))[1], false);
  EXPECT_EQ(sch.get(outer).iter_vars.size(), 1u);
  expect_result(sch, before);
  Schedule all(before);
  EXPECT_TRUE(
      all.get(blockize(all, get_loops(all, get_block(all, "C"))[0], false)).iter_vars.empty());
  expect_result(all, before);
}

TEST(blockize, divides_the_axes_of_tiles) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  const auto [i_0, i_1] = split(sch, loops[0], {infer, 16}).take<2>();
  const auto [j_0, j_1] = split(sch, loops[1], {infer, 16}).take<2>();
  reorder(sch, {i_0, j_0, i_1, j_1});
  blockize(sch, i_1);
  expect_result(sch, before, program(stages_parameters, R"(
B = T.alloc_buffer((96, 64))
for i, j in T.grid(96, 64):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i_0, j_0 in T.grid(6, 4):
    with T.block("C_o"):
        vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
        T.reads(B[vi_o * 16:vi_o * 16 + 16, vj_o * 16:vj_o * 16 + 16])
        T.writes(C[vi_o * 16:vi_o * 16 + 16, vj_o * 16:vj_o * 16 + 16])
        for i_1, j_1 in T.grid(16, 16):
            with T.block("C"):
                vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                C[vi_o * 16 + vi_i, vj_o * 16 + vj_i] = B[vi_o * 16 + vi_i, vj_o * 16 + vj_i] * T.float32(2)
)"));
}

TEST(blockize, keeps_conditions_about_both_sides_inside) {
  const auto before = two_stages(100, 64);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto i = split(sch, get_loops(sch, c)[0], {infer, 16});
  blockize(sch, i[1]);
  expect_result(sch, before,
                program(R"(A: T.Buffer((100, 64), "float32"), C: T.Buffer((100, 64), "float32"))",
                        R"(
B = T.alloc_buffer((100, 64))
for i, j in T.grid(100, 64):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i_0 in range(7):
    with T.block("C_o"):
        vi_o = T.axis.spatial(7, i_0)
        vj_o = T.axis.spatial(1, 0)
        for i_1, j in T.grid(16, 64):
            with T.block("C"):
                T.where(vi_o * 16 + i_1 < 100)
                vi_i, vj = T.axis.remap("SS", [i_1, j])
                C[vi_o * 16 + vi_i, vj] = B[vi_o * 16 + vi_i, vj] * T.float32(2)
)"));
}

TEST(blockize, moves_an_init_to_the_block_around) {
  const auto before = matmul(32, 48, 64);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  const auto [i_0, i_1] = split(sch, loops[0], {infer, 16}).take<2>();
  const auto [j_0, j_1] = split(sch, loops[1], {infer, 16}).take<2>();
  const auto [k_0, k_1] = split(sch, loops[2], {infer, 8}).take<2>();
  reorder(sch, {i_0, j_0, k_0, i_1, j_1, k_1});
  const auto outer = blockize(sch, i_1);
  expect_result(sch, before,
                program(R"(A: T.Buffer((32, 64), "float32"),
         B: T.Buffer((64, 48), "float32"), C: T.Buffer((32, 48), "float32"))",
                        R"(
for i_0, j_0, k_0 in T.grid(2, 3, 8):
    with T.block("C_o"):
        vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
        T.reads(A[vi_o * 16:vi_o * 16 + 16, vk_o * 8:vk_o * 8 + 8], B[vk_o * 8:vk_o * 8 + 8, vj_o * 16:vj_o * 16 + 16])
        T.writes(C[vi_o * 16:vi_o * 16 + 16, vj_o * 16:vj_o * 16 + 16])
        with T.init():
            for i_1_init, j_1_init in T.grid(16, 16):
                with T.block("C_init"):
                    vi_i_init, vj_i_init = T.axis.remap("SS", [i_1_init, j_1_init])
                    C[vi_o * 16 + vi_i_init, vj_o * 16 + vj_i_init] = T.float32(0)
        for i_1, j_1, k_1 in T.grid(16, 16, 8):
            with T.block("C"):
                vi_i, vj_i, vk_i = T.axis.remap("SSR", [i_1, j_1, k_1])
                C[vi_o * 16 + vi_i, vj_o * 16 + vj_i] = C[vi_o * 16 + vi_i, vj_o * 16 + vj_i] + A[vi_o * 16 + vi_i, vk_o * 8 + vk_i] * B[vk_o * 8 + vk_i, vj_o * 16 + vj_i]
)"));
  decompose_reduction(sch, outer, k_0);
  expect_result(sch, before);
}

TEST(blockize, is_right_wherever_the_loop_is) {
  // Factors that divide and do not, with the reduction outside, divided or inside.
  for (const int factor : {4, 7}) {
    for (int place = 0; place < 6; ++place) {
      const auto before = matmul(10, 12, 9);
      Schedule sch(before);
      const auto loops = get_loops(sch, get_block(sch, "C"));
      const auto [i_0, i_1] = split(sch, loops[0], {infer, factor}).take<2>();
      const auto [k_0, k_1] = split(sch, loops[2], {infer, 4}).take<2>();
      const std::vector<LoopRV> order{i_0, k_0, i_1, k_1, loops[1]};
      reorder(sch, order);
      // The last place: of the other order, in which spatial loops are outside of the reduction.
      if (place == 5) reorder(sch, {i_0, i_1, loops[1], k_0, k_1});
      blockize(sch, place == 5 ? k_0 : order[static_cast<std::size_t>(place)]);
      expect_result(sch, before);
    }
  }
}

TEST(blockize, knows_digits_of_fused_loops) {
  const auto before = two_stages(8, 32);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto fused = fuse(sch, {get_loops(sch, c)[0], get_loops(sch, c)[1]});
  const auto parts = split(sch, fused, {infer, 4, 16});
  const auto outer = blockize(sch, parts[1]);
  EXPECT_EQ(sch.get(outer).iter_vars.size(), 2u);
  expect_result(sch, before);
}

TEST(blockize, takes_symbolic_sizes) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, 8))
C = T.match_buffer(c, (n, 8))
for i, j in T.grid(n, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Schedule sch(before);
  const auto i = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 16});
  blockize(sch, i[1]);
  expect_result(sch, before);
  Schedule whole(before);
  blockize(whole, get_loops(whole, get_block(whole, "C"))[0]);
  expect_result(whole, before);
}

TEST(blockize, joins_blocks_that_follow_each_other) {
  const auto before = two_stages(8, 16);
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  const auto c = get_block(sch, "C");
  compute_at(sch, b, get_loops(sch, c)[0]);
  const auto outer = blockize(sch, std::vector{b, c});
  EXPECT_EQ(sch.name(outer), "outer_B_C");
  EXPECT_EQ(get_child_blocks(sch, outer), (Handles<BlockRV>{b, c}));
  expect_result(sch, before,
                program(R"(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32"))", R"(
B = T.alloc_buffer((8, 16))
for i in range(8):
    with T.block("outer_B_C"):
        vi = T.axis.spatial(8, i)
        vj_o = T.axis.spatial(1, 0)
        vj_o_1 = T.axis.spatial(1, 0)
        T.reads(A[vi, 0:16], B[vi, 0:16])
        T.writes(B[vi, 0:16], C[vi, 0:16])
        for ax0 in range(16):
            with T.block("B"):
                vj = T.axis.spatial(16, ax0)
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(16):
            with T.block("C"):
                vj = T.axis.spatial(16, j)
                C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
  Schedule one(before);
  EXPECT_EQ(one.name(blockize(one, std::vector{get_block(one, "B")})), "outer_B");
  expect_result(one, before);
}

TEST(blockize, refuses_what_is_no_tile) {
  Schedule sch(matmul(16, 16, 16));
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  const auto parts = split(sch, loops[0], {4, 4});
  reorder(sch, {parts[1], parts[0]});
  EXPECT_EQ(error_of([&] { blockize(sch, parts[0]); }),
            "space_is_divisible: blockize: block C can not be blockized by the loops starting at "
            "i_0, as its axes are no digits of loops, those inside the lower ones");
  EXPECT_EQ(error_of([&] { blockize(sch, std::vector<BlockRV>{}); }),
            "arguments_fit: blockize: neither a loop nor a list of blocks is given");
  EXPECT_EQ(error_of([&] { blockize(sch, std::vector{*block_around(sch, sch.node(c))}); }),
            "block_is_not_root: blockize: the primitive does not operate on the root block root");

  Schedule two(two_stages(8, 16));
  const auto b = get_block(two, "B");
  compute_at(two, b, get_loops(two, get_block(two, "C"))[0]);
  EXPECT_EQ(error_of([&] { blockize(two, get_loops(two, b)[0]); }),
            "nest_is_perfect: blockize: loop i has 2 blocks inside, not one");
  Schedule apart(two_stages(8, 16));
  compute_at(apart, get_block(apart, "B"), get_loops(apart, get_block(apart, "C"))[1]);
  const auto i = get_loops(apart, get_block(apart, "C"))[0];
  EXPECT_EQ(
      error_of([&] {
        blockize(apart, std::vector{get_block(apart, "C"), *block_around(apart, apart.node(i))});
      }),
      "statements_follow_each_other: blockize: block root does not follow block C in the same "
      "loop or block");
}

TEST(blockize, refuses_what_is_more_than_loops) {
  Schedule sch(program(R"(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"))", R"(
for i in range(8):
    if i < 5:
        for k in range(8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
)"));
  const auto loops = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { blockize(sch, loops[0]); }),
            "nest_is_perfect: blockize: something else than loops stands between loop i and block "
            "C");
  EXPECT_EQ(error_of([&] { blockize(sch, std::vector{get_block(sch, "C")}); }),
            "outer_axes_are_spatial: blockize: loops outside of the blocks are bound to reduction "
            "axes of "
            "block C");
  blockize(sch, loops[1]);
}

TEST(blockize, refuses_an_init_that_cannot_move) {
  const auto reduction = [](std::string_view loops, std::string_view binding) {
    return program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"))",
                   fmt::format(R"(
for i, {}:
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        vk = T.axis.reduce(8, {})
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
)",
                               loops, binding));
  };
  const auto refused = [](const Ptr<PrimFunc>& func) {
    Schedule sch(func);
    return error_of([&] { blockize(sch, get_loops(sch, get_block(sch, "C"))[1]); });
  };
  EXPECT_EQ(refused(reduction("k in T.grid(4, 5)", "k + 3")),
            "step_keeps_results: blockize: results may change: the init of block C cannot go "
            "before loop k, as its "
            "reduction does not start at the first iteration");
  EXPECT_EQ(refused(reduction("k, r in T.grid(4, 8, 2)", "k")),
            "step_keeps_results: blockize: results may change: the init of block C cannot go "
            "before loop k, as a loop "
            "repeats its instances");
  Schedule scan(program(R"(C: T.Buffer((8,), "float32"))", R"(
for i, k in T.grid(8, 4):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + C[vk]
)"));
  EXPECT_EQ(
      error_of([&] { blockize(scan, get_loops(scan, get_block(scan, "C"))[1]); }),
      "block_is_reduction: blockize: block C is not a reduction block - it violates condition "
      "#5");
}

TEST(blockize, keeps_the_conditions_of_blocks) {
  const auto guarded = [](std::string_view limit) {
    return program(
        R"(A: T.Buffer((7, 4), "float32"), B: T.Buffer((7, 4), "float32"), C: T.Buffer((9, 4), "float32"))",
        fmt::format(R"(
for i0, i1 in T.grid(3, 3):
    for j in range(4):
        with T.block("B"):
            vi = T.axis.spatial(7, i0 * 3 + i1)
            vj = T.axis.spatial(4, j)
            T.where(i0 * 3 + i1 < 7)
            B[vi, vj] = A[vi, vj]
    for j in range(4):
        with T.block("C"):
            vi = T.axis.spatial({0}, i0 * 3 + i1)
            vj = T.axis.spatial(4, j)
            T.where(i0 * 3 + i1 < {0})
            C[vi, vj] = T.float32(1)
)",
                    limit));
  };
  const auto before = guarded("7");
  Schedule one(before);
  const BlockRV outer = blockize(one, std::vector<BlockRV>{get_block(one, "B")});
  EXPECT_EQ(to_string(one.realize(outer).predicate), "i0 * 3 + i1 < 7");
  expect_result(one, before);
  Schedule both(before);
  blockize(both, std::vector<BlockRV>{get_block(both, "B"), get_block(both, "C")});
  expect_result(both, before);
  Schedule different(guarded("8"));
  EXPECT_EQ(error_of([&] {
              blockize(different,
                       std::vector<BlockRV>{get_block(different, "B"), get_block(different, "C")});
            }),
            "space_is_divisible: blockize: block B can not be blockized by the loops starting at "
            "B, as only some of the blocks keep axis vi in its domain");
}

TEST(blockize, leaves_loops_beyond_its_scope_alone) {
  // The parts of a partitioned loop stand in blocks without axes.
  Schedule sch(program(R"(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32"))", R"(
for i, j, k in T.grid(8, 4, 1):
    with T.block("B"):
        vi = T.axis.spatial(6, i - 2 + k)
        vj = T.axis.spatial(4, j)
        T.where(0 <= i - 2 + k)
        B[vi, vj] = A[vi, vj]
)"));
  loop_partition(sch, get_loop(sch, "j"), {1, infer});
  const Handles<LoopRV> loops = sch.loops_named(0, "k");
  const std::string error = error_of([&] { blockize(sch, loops[0]); });
  EXPECT_NE(error.find("space_is_divisible"), std::string::npos) << error;
  EXPECT_NE(error.find("as loop i, which is not in the same scope, is bound to it"),
            std::string::npos)
      << error;
}

/// The loop outside never runs, so that the block around would not start what the domain inside
/// says is nothing.
TEST(blockize, refuses_an_init_of_nothing_outside_of_loops_that_do_not_run) {
  const auto reduction = [](std::string_view extent) {
    return program(R"(C: T.Buffer((1,), "float32"), n: T.int32)", fmt::format(R"(
for i, k in T.grid({0}, 1):
    with T.block("C"):
        vi = T.axis.reduce(1, i)
        vk = T.axis.reduce(n, k)
        with T.init():
            C[0] = T.float32(0)
        C[0] = T.float32(1)
)",
                                                                              extent));
  };
  Schedule never(reduction("0"));
  EXPECT_EQ(error_of([&] { blockize(never, get_loop(never, "k")); }),
            "step_keeps_results: blockize: results may change: loop i may have no iteration, where "
            "block C gives its init; after this step it would give nothing");
  Schedule once(reduction("1"));
  blockize(once, get_loop(once, "k"));
}

TEST(blockize, keeps_memory_as_long_as_axes_say) {
  const auto before = program(R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"))", R"(
for i, j in T.grid(8, 1):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        C = T.alloc_buffer((vi + 1,))
        C[vi] = A[vi]
        B[vi] = C[vi]
)");
  Schedule sch(before);
  blockize(sch, get_loop(sch, "j"), false);
  expect_result(sch, before);
}

TEST(blockize, refuses_axes_that_only_iterations_inside_keep_in_their_domains) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), n: T.int32)", R"(
for i in range(T.min(n, 1) * 8):
    with T.block("A"):
        vn = T.axis.spatial(n, 0)
        vi = T.axis.spatial(8, i)
        A[vi] = T.float32(1)
)"));
  EXPECT_EQ(
      error_of([&] { blockize(sch, get_loop(sch, "i")); }),
      "space_is_divisible: blockize: block A can not be blockized by the loops starting at i, "
      "as axis vn may leave its domain where no iteration runs");
}

TEST(blockize, refuses_domains_that_change_while_the_loops_run) {
  const auto refusal_of = [](std::string_view lines) {
    Schedule sch(program("A: T.Buffer((1,), 'int32'), B: T.Buffer((9,), 'int32')", lines));
    return error_of([&] { blockize(sch, get_loop(sch, "j")); });
  };
  const std::string refusal =
      "space_is_divisible: blockize: block B can not be blockized by the loops starting at j, as "
      "the domain of axis vi is read from memory that the loops write";
  EXPECT_EQ(refusal_of(R"(
for i, j in T.grid(A[0], 1):
    with T.block("B"):
        vi = T.axis.spatial(6, i + j)
        A[0] = 1
)"),
            refusal);
  EXPECT_EQ(refusal_of(R"(
for i in range(A[0]):
    for j in range(1):
        with T.block("B"):
            vi = T.axis.spatial(6, i + j)
            B[vi] = 1
    with T.block("A"):
        A[0] = 1
)"),
            refusal);
  EXPECT_EQ(refusal_of(R"(
with T.block("A"):
    A[0] = 6
for i, j in T.grid(A[0], 1):
    with T.block("B"):
        vi = T.axis.spatial(6, i + j)
        B[vi] = 1
)"),
            "");
}

TEST(blockize, refuses_inits_under_conditions_on_memory) {
  Schedule sch(program("A: T.Buffer((4,), 'int32'), B: T.Buffer((1,), 'int32')", R"(
for i, k in T.grid(4, 3):
    with T.block("A"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.where(B[0] < 2)
        with T.init():
            A[vi] = 0
        A[vi] = A[vi] + vk
)"));
  const std::string refusal = error_of([&] { blockize(sch, get_loop(sch, "k")); });
  EXPECT_TRUE(refusal.starts_with("step_keeps_results: blockize: ")) << refusal;
  EXPECT_NE(refusal.find("whether it runs depends on memory"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace loopsmith
