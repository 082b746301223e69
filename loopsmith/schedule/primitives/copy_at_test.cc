// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/copy_at.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// A matmul in tiles of 4 x 4 x 4, loops io, jo, ko, ii, ji, ki.
struct Tiled {
  explicit Tiled(int n = 8, int m = 8, int k = 8) : func(matmul(n, m, k)), sch(func) {
    const auto loops = get_loops(sch, get_block(sch, "C"));
    std::vector<LoopRV> outer, inner;
    for (const LoopRV loop : loops) {
      const auto parts = split(sch, loop, {infer, 4});
      outer.push_back(parts[0]);
      inner.push_back(parts[1]);
    }
    reorder(sch, {outer[0], outer[1], outer[2], inner[0], inner[1], inner[2]});
    jo = outer[1];
    ko = outer[2];
  }

  Ptr<PrimFunc> func;
  Schedule sch;
  LoopRV jo, ko;
};

TEST(read_at, copies_a_tile_in_one_block) {
  Tiled t;
  const BlockRV copy = read_at(t.sch, t.ko, get_block(t.sch, "C"), 0, "shared");
  EXPECT_EQ(t.sch.name(copy), "A_shared");
  EXPECT_EQ(t.sch.get(copy).annotations.get_int("auto_copy", 0), 1);
  EXPECT_NE(body_of(t.sch).find(R"(        with T.block("A_shared"):
            v0, v1 = T.axis.remap("SS", [i_0, k_0])
            T.reads(A[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
            T.writes(A_shared[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(4, 4):
                A_shared[v0 * 4 + ax0, v1 * 4 + ax1] = A[v0 * 4 + ax0, v1 * 4 + ax1]
)"),
            std::string::npos)
      << body_of(t.sch);
  expect_sound(t.sch, t.func);
}

TEST(read_at, guards_tiles_at_borders) {
  Tiled t(6, 7, 5);
  read_at(t.sch, t.ko, get_block(t.sch, "C"), 0, "shared");
  read_at(t.sch, t.jo, get_block(t.sch, "C"), 1, "local");
  expect_sound(t.sch, t.func);
}

TEST(read_at, is_shared_by_the_readers_in_the_loop) {
  const auto func = program(R"((A: T.Buffer((8, 6)), B: T.Buffer((8, 4)), C: T.Buffer((8, 4))):
    for i in range(8):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj + 2]
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * A[vi, 3 - vj]
)");
  Schedule sch(func);
  read_at(sch, get_loops(sch, get_block(sch, "C"))[0], get_block(sch, "C"), "A", "local");
  EXPECT_NE(body_of(sch).find("for ax0, ax1 in T.grid(1, 6):"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("A_local[vi, vj] + A_local[vi, vj + 2]"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(write_at, writes_a_tile_back_in_one_block) {
  Tiled t;
  const BlockRV copy = write_at(t.sch, t.jo, get_block(t.sch, "C"), 0, "local");
  EXPECT_EQ(t.sch.name(copy), "C_local");
  EXPECT_NE(body_of(t.sch).find(R"(        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [i_0, j_0])
            T.reads(C_local[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
            T.writes(C[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(4, 4):
                C[v0 * 4 + ax0, v1 * 4 + ax1] = C_local[v0 * 4 + ax0, v1 * 4 + ax1]
)"),
            std::string::npos)
      << body_of(t.sch);
  expect_sound(t.sch, t.func);
}

TEST(write_at, keeps_partial_results_between_steps_of_a_reduction) {
  Tiled t;
  write_at(t.sch, t.ko, get_block(t.sch, "C"), 0, "local");
  expect_sound(t.sch, t.func);
}

TEST(write_at, copies_no_digits_of_a_number_beyond_its_limit) {
  const auto func = program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((2, 3), "float32"))", R"(
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        C[vi // 3, vi % 3] = A[vi]
)");
  for (const std::size_t place : {0, 1}) {
    Schedule sch(func);
    const auto parts = split(sch, get_loop(sch, "i"), {5, infer});
    const LoopRV loop = parts[place];
    EXPECT_EQ(
        error_of([&] { write_at(sch, loop, get_block(sch, "C"), 0, "global"); }).substr(0, 50),
        "step_keeps_results: write_at: results may change: ");
    expect_result(sch, func);
  }
  Schedule whole(func);
  split(whole, get_loop(whole, "i"), {5, infer});
  cache_write(whole, get_block(whole, "C"), 0, "global");
  expect_result(whole, func);
}

TEST(write_at, lets_readers_in_the_loop_read_the_cache) {
  const auto func = program(R"((A: T.Buffer((8, 4)), B: T.Buffer((8, 4)), C: T.Buffer((8, 4))):
    for i in range(8):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 3 - vj]
)");
  Schedule sch(func);
  write_at(sch, get_loops(sch, get_block(sch, "B"))[0], get_block(sch, "B"), 0, "local");
  EXPECT_NE(body_of(sch).find("= B_local[vi, 3 - vj]"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(write_at, leaves_a_reduction_that_another_loop_started_where_it_is) {
  const auto func = program(R"((A: T.Buffer((6, 12)), C: T.Buffer((6,))):
    for i, k in T.grid(6, 12):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)");
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  loop_partition(sch, fuse(sch, {loops[0], loops[1]}), {4, infer});
  const BlockRV second = get_block(sch, "C_i_k_fused1");
  EXPECT_EQ(error_of([&] { write_at(sch, get_loops(sch, second)[0], second, 0, "local"); }),
            "step_keeps_results: write_at: results may change: block C_i_k_fused1 reads what was "
            "in buffer C "
            "before");
  expect_sound(sch, func);
}

TEST(copy_at, follows_loops_around_blocks_without_axes) {
  const auto func = two_stages(10, 6);
  Schedule sch(func);
  loop_partition(sch, get_loops(sch, get_block(sch, "C"))[1], {2, infer});
  const BlockRV part = get_block(sch, "C_j1");
  read_at(sch, get_loops(sch, part)[0], part, 0, "local");
  write_at(sch, get_loops(sch, part)[0], part, 0, "local");
  cache_read(sch, get_block(sch, "C_j0"), 0, "shared");
  cache_write(sch, get_block(sch, "C_j0"), 0, "shared");
  expect_sound(sch, func);
}

TEST(copy_at, refuses_what_decides_which_instances_run) {
  Schedule sch(program("A: T.Buffer((4,), 'int32'), B: T.Buffer((4,), 'int32')", R"(
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(4, A[i] % 4)
        B[vi] = A[0]
)"));
  const BlockRV block = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { read_at(sch, get_loop(sch, "i"), block, "A", "global"); }),
            "uses_are_declared: read_at: buffer A is used outside of the blocks that declare it");
}

TEST(copy_at, refuses_domains_that_the_loop_may_change) {
  Schedule sch(program("A: T.Buffer((4,), 'int32'), n: T.Buffer((1,), 'int32')", R"(
for i in range(T.min(n[0], 4)):
    with T.block("A"):
        vi = T.axis.spatial(4, i)
        A[vi] = 1
    n[0] = 1
)"));
  const BlockRV block = get_block(sch, "A");
  const std::string refusal =
      error_of([&] { write_at(sch, get_loop(sch, "i"), block, "A", "global"); });
  EXPECT_TRUE(refusal.starts_with("bounds_are_known: write_at: ")) << refusal;
}

TEST(copy_at, refuses_boxes_that_depend_on_triangles) {
  Schedule sch(program(R"((A: T.Buffer((8, 8, 4)), B: T.Buffer((8, 8, 4))):
    for i in range(8):
        for j in range(i):
            for k in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(8, j)
                    vk = T.axis.spatial(4, k)
                    B[vi, vj, vk] = A[vi, vj, vk]
)"));
  EXPECT_EQ(error_of([&] { read_at(sch, get_loop(sch, "j"), get_block(sch, "B"), 0, "local"); }),
            "bounds_are_known: read_at: what is copied at loop j depends on loop j, "
            "whose bounds depend on others or on memory");
}

TEST(copy_at, refuses_what_it_cannot_do) {
  Schedule sch(two_stages(8, 4));
  const BlockRV b = get_block(sch, "B"), c = get_block(sch, "C");
  const LoopRV i = get_loops(sch, b)[0];
  EXPECT_EQ(error_of([&] { read_at(sch, i, c, 0, "local"); }),
            "loop_is_around_block: read_at: loop i is not around block C");
  EXPECT_EQ(error_of([&] { write_at(sch, i, b, 0, "attic"); }),
            "name_is_known: write_at: there is no storage scope attic");
  EXPECT_EQ(error_of([&] { read_at(sch, i, b, 1, "local"); }),
            "block_has_the_buffer: read_at: block B reads no such buffer");

  vectorize(sch, get_loops(sch, b)[1]);
  EXPECT_EQ(error_of([&] { read_at(sch, get_loops(sch, b)[1], b, 0, "local"); }),
            "loop_is_serial: read_at: loop j is vectorized");

  Schedule scan(program(R"((A: T.Buffer((9, 4))):
    for i in range(8):
        for j in range(4):
            with T.block("step"):
                vi = T.axis.opaque(8, i)
                vj = T.axis.spatial(4, j)
                A[vi + 1, vj] = A[vi, vj] + T.float32(1)
)"));
  const LoopRV t = get_loop(scan, "i");
  const BlockRV step = get_block(scan, "step");
  EXPECT_EQ(
      error_of([&] { read_at(scan, t, step, 0, "local"); }),
      "step_keeps_results: read_at: results may change: block step writes buffer A inside loop i");
  EXPECT_EQ(error_of([&] { write_at(scan, t, step, 0, "local"); }),
            "step_keeps_results: write_at: results may change: block step reads what was in buffer "
            "A before");

  Schedule late(program(R"((A: T.Buffer((8, 4)), C: T.Buffer((8, 4))):
    B = T.alloc_buffer((9, 4))
    for i in range(8):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi + 1, vj] = A[vi, vj]
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]
)"));
  EXPECT_EQ(
      error_of([&] { write_at(late, get_loop(late, "i"), get_block(late, "B"), 0, "local"); }),
      "step_keeps_results: write_at: results may change: block C reads elements of buffer B that "
      "are "
      "not in the cache");

  Schedule outer(program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(2):
        with T.block("tile"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 4 : vi * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4])
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    B[vi * 4 + vj] = A[vi * 4 + vj]
)"));
  EXPECT_EQ(
      error_of([&] { read_at(outer, get_loop(outer, "i"), get_block(outer, "B"), 0, "local"); }),
      "loop_is_in_scope: read_at: block B and loop i are not in the same scope");
}

}  // namespace
}  // namespace loopsmith
