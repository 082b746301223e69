// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reindex.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;
using Side = BufferSelector::Side;

const BufferSelector first_read(0, Side::read);
const BufferSelector first_write(0, Side::write);

Ptr<PrimFunc> transposed() {
  return program(R"((A: T.Buffer((4, 8)), C: T.Buffer((16, 4))):
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * 2 + 1, vj] = A[vj, vi] + T.float32(1)
)");
}

TEST(reindex, copies_what_is_read_in_the_order_of_the_axes) {
  const auto func = transposed();
  Schedule sch(func);
  const BlockRV copy = reindex(sch, get_block(sch, "C"), first_read);
  EXPECT_EQ(sch.name(copy), "A_reindex");
  EXPECT_EQ(body_of(sch), R"(    A_reindex = T.alloc_buffer((8, 4))
    for ax0, ax1 in T.grid(8, 4):
        with T.block("A_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(A[v1, v0])
            T.writes(A_reindex[v0, v1])
            A_reindex[v0, v1] = A[v1, v0]
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A_reindex[vi, vj])
            T.writes(C[vi * 2 + 1, vj])
            C[vi * 2 + 1, vj] = A_reindex[vi, vj] + T.float32(1)
)");
  expect_sound(sch, func);
}

TEST(reindex, copies_back_what_is_written_and_nothing_else) {
  const auto func = transposed();
  Schedule sch(func);
  reindex(sch, get_block(sch, "C"), "C");
  EXPECT_NE(body_of(sch).find("C[v0 * 2 + 1, v1] = C_reindex[v0, v1]"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(reindex, takes_reductions_and_split_loops) {
  const auto func = matmul(4, 6, 5);
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  split(sch, get_loops(sch, c)[1], {infer, 4});
  reindex(sch, c, first_write);
  reindex(sch, c, "B");
  reindex(sch, c, first_read);
  expect_sound(sch, func);
}

TEST(reindex, guards_what_lies_beyond_the_buffer) {
  const auto func = program(R"((A: T.Buffer((8,)), C: T.Buffer((10,))):
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))
)");
  Schedule sch(func);
  reindex(sch, get_block(sch, "C"), first_read);
  EXPECT_NE(body_of(sch).find("T.where(0 <= ax0 - 1 and ax0 - 1 < 8)"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(reindex, refuses_what_it_cannot_follow) {
  Schedule sch(program(R"((A: T.Buffer((8,)), D: T.Buffer((8,), "int32"), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("two"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + A[7 - vi]
        with T.block("gather"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + A[D[vi]]
        with T.block("half"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            D[vi] = 3
)"));
  const BlockRV two = get_block(sch, "two");
  const BlockRV gather = get_block(sch, "gather");
  const BlockRV half = get_block(sch, "half");
  EXPECT_EQ(error_of([&] { reindex(sch, two, "A"); }),
            "indices_are_unique: reindex: block two accesses buffer A with more than one list of "
            "indices");
  EXPECT_EQ(error_of([&] { reindex(sch, gather, "A"); }),
            "indices_are_unique: reindex: block gather accesses buffer A with indices that are not "
            "made of its axes");
  EXPECT_EQ(error_of([&] { reindex(sch, gather, "C"); }),
            "step_keeps_results: reindex: results would change: block gather both reads and writes "
            "buffer C");
  EXPECT_EQ(error_of([&] { reindex(sch, half, "D"); }),
            "nest_is_perfect: reindex: block gather uses buffer D inside the nest of block half");
  EXPECT_EQ(error_of([&] { reindex(sch, two, "X"); }),
            "block_has_the_buffer: reindex: block two reads no such buffer");
}

TEST(reindex, refuses_what_decides_which_instances_run) {
  for (const char* head : {"vi = T.axis.spatial(4, A[i] % 4)",
                           "vi = T.axis.spatial(4, i)\n        "
                           "T.where(A[i] < 3)"}) {
    Schedule sch(
        program(R"(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"))", fmt::format(R"(
for i in range(4):
    with T.block("C"):
        {}
        C[vi] = A[vi]
)",
                                                                                         head)));
    EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "C"), "A"); }),
              "uses_are_declared: reindex: buffer A is used outside of the blocks that declare it");
  }
}

TEST(reindex, refuses_axes_that_common_loops_bind_in_part) {
  Schedule sch(program(R"((A: T.Buffer((8,)), E: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(4):
        for j in range(2):
            with T.block("C"):
                vi = T.axis.spatial(8, i * 2 + j)
                C[vi] = A[vi]
        for j in range(2):
            with T.block("E"):
                vi = T.axis.spatial(8, i * 2 + j)
                E[vi] = C[vi]
)"));
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "C"), "C"); }),
            "nest_is_perfect: reindex: block E uses buffer C inside the nest of block C");
}

TEST(reindex_cache, maps_axes_to_indices_of_the_copy) {
  const auto func = transposed();
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  const auto i = var("i"), j = var("j");
  const auto map = make(
      IndexMap{.initial_indices = {i, j}, .final_indices = {j, floordiv(i, 4), floormod(i, 4)}});
  const BlockRV read = reindex_cache_read(sch, c, 0, "shared", map);
  EXPECT_EQ(sch.name(read), "A_shared");
  EXPECT_NE(body_of(sch).find("A_shared = T.alloc_buffer((4, 2, 4), scope=\"shared\")"),
            std::string::npos)
      << body_of(sch);
  EXPECT_NE(body_of(sch).find("A_shared[v1, v0 // 4, v0 % 4] = A[v1, v0]"), std::string::npos)
      << body_of(sch);
  reindex_cache_write(sch, c, 0, "local", map);
  expect_sound(sch, func);
}

TEST(reindex_cache, forgets_an_alignment_of_dimensions_that_the_copy_does_not_have) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  storage_align(sch, b, 0, 1, 4, 0);
  const auto i = var("i"), j = var("j");
  const auto flat = make(IndexMap{.initial_indices = {i, j}, .final_indices = {i * 4 + j}});
  reindex_cache_write(sch, b, 0, "shared", flat);
  EXPECT_EQ(body_of(sch).find("buffer_dim_align"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(reindex_cache, refuses_maps_that_do_not_fit) {
  Schedule sch(transposed());
  const BlockRV c = get_block(sch, "C");
  const auto i = var("i"), j = var("j");
  const auto one = make(IndexMap{.initial_indices = {i}, .final_indices = {i}});
  EXPECT_EQ(error_of([&] { reindex_cache_read(sch, c, 0, "local", one); }),
            "arguments_fit: reindex_cache_read: the index map takes 1 indices, block C "
            "has 2 axes");
  const auto drops = make(IndexMap{.initial_indices = {i, j}, .final_indices = {i}});
  EXPECT_EQ(error_of([&] { reindex_cache_write(sch, c, 0, "local", drops); }),
            "index_map_uses_the_same_axes: reindex_cache_write: axis vj appears in the old indices "
            "but not in the new ones");
  const auto folds =
      make(IndexMap{.initial_indices = {i, j}, .final_indices = {floordiv(i, 2), j}});
  EXPECT_TRUE(
      error_of([&] { reindex_cache_read(sch, c, 0, "local", folds); })
          .starts_with(
              "step_keeps_results: reindex_cache_read: results may change: the index map may take "
              "different axes to one element: "));
}

TEST(reindex, copies_nothing_that_was_not_written) {
  const auto func = program(R"((A: T.Buffer((6, 6)), B: T.Buffer((6, 6))):
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi >= 1 and vj >= 1, A[vi - 1, vj - 1], T.float32(0))
)");
  Schedule sch(func);
  reindex(sch, get_block(sch, "B"), first_read);
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "B"), first_read); }),
            "step_keeps_results: reindex: results may change: whether all elements of buffer "
            "A_reindex that "
            "the copy for block B takes were written before is not known");
}

/// A tile of B is made from a tile of Q, of which the elements `written` are there.
Ptr<PrimFunc> tiled(const std::string& written) {
  return program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for t in range(2):
        with T.block("tile"):
            vt = T.axis.spatial(2, t)
            T.reads(A[0:8])
            T.writes(B[vt * 4:vt * 4 + 4])
            Q = T.alloc_buffer((8,))
            for i in range()" +
                 written + R"():
                with T.block("Q"):
                    v = T.axis.spatial(8, i)
                    Q[v] = A[v]
            for i in range(4):
                with T.block("B"):
                    v = T.axis.spatial(8, vt * 4 + i)
                    B[v] = Q[v]
)");
}

TEST(reindex, asks_of_all_that_it_copies_whether_it_was_written) {
  Schedule sch(tiled("vt * 4, vt * 4 + 4"));
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "B"), first_read); }),
            "step_keeps_results: reindex: results may change: whether all elements of buffer Q "
            "that the copy "
            "for block B takes were written before is not known");
  const auto func = tiled("8");
  Schedule filled(func);
  reindex(filled, get_block(filled, "B"), first_read);
  expect_sound(filled, func);
}

TEST(reindex, copies_no_more_than_the_block_around_says_that_it_reads) {
  const auto func = program(R"((A: T.Buffer((8, 12)), C: T.Buffer((8,))):
    for i, k in T.grid(8, 12):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)");
  Schedule sch(func);
  loop_partition(sch, get_loops(sch, get_block(sch, "C"))[1], {3, infer});
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "C_k0"), first_read); }),
            "step_keeps_results: reindex: results may change: whether all elements of buffer A "
            "that the copy "
            "for block C_k0 takes were written before is not known");
}

TEST(reindex, copies_no_elements_that_a_loop_steps_over) {
  const auto rows = [](std::string_view inner) {
    return program(fmt::format(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("all"):
            v = T.axis.spatial(8, i)
            B[v] = T.float32(4)
    for i in range(0, 8, 2):
        for j in range({}):
            with T.block("B"):
                v = T.axis.spatial(8, i + j)
                B[v] = A[v] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                               inner));
  };
  const BufferSelector written(0, BufferSelector::Side::write);
  Schedule sch(rows("1"));
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "B"), written); }),
            "step_keeps_results: reindex: results would change: B_reindex (v0=1) reads B_reindex, "
            "and the value is not copied there");
  const auto func = rows("2");
  Schedule filled(func);
  reindex(filled, get_block(filled, "B"), written);
  expect_sound(filled, func);
}

TEST(reindex, copies_nothing_for_iterations_that_a_condition_leaves_out) {
  Schedule sch(program(R"((A: T.Buffer((2, 2)), B: T.Buffer((2, 2))):
    for i in range(2):
        with T.block("A"):
            vi = T.axis.spatial(2, i)
            A[vi, vi] = T.float32(1)
        if i < 1:
            with T.block("B"):
                vi = T.axis.spatial(1, i)
                B[vi, vi] = A[vi, vi]
)"));
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "B"), first_read); }),
            "nest_is_perfect: reindex: block A uses buffer A inside the nest of block B");
}

TEST(reindex, copies_no_variables) {
  Schedule sch(program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    x: T.float32 = A[0]
    x = x + T.float32(1)
    for i in range(8):
        with T.block("outer"):
            v = T.axis.opaque(8, i)
            with T.block("B"):
                w = T.axis.opaque(8, 3)
                if A[v] > T.float32(0):
                    B[v] = x
)"));
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "B"), "x"); }),
            "step_keeps_results: reindex: results may change: whether all elements of buffer x "
            "that the copy "
            "for block B takes were written before is not known");
}

}  // namespace
}  // namespace loopsmith
