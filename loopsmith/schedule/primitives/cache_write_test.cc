// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_write.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(cache_write, copies_the_result_of_a_reduction_back) {
  const auto func = matmul(4, 6, 5);
  Schedule sch(func);
  const BlockRV copy = cache_write(sch, get_block(sch, "C"), 0, "local");
  EXPECT_EQ(sch.name(copy), "C_local");
  EXPECT_EQ(body_of(sch), R"(    C_local = T.alloc_buffer((4, 6), scope="local")
    for i, j, k in T.grid(4, 6, 5):
        with T.block("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C_local[v_i, v_j])
            with T.init():
                C_local[v_i, v_j] = T.float32(0)
            C_local[v_i, v_j] = C_local[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for ax0, ax1 in T.grid(4, 6):
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(C_local[v0, v1])
            T.writes(C[v0, v1])
            C[v0, v1] = C_local[v0, v1]
)");
  expect_sound(sch, func);
}

TEST(cache_write, follows_splits_fusions_and_guards) {
  const auto func = matmul(10, 6, 4);
  Schedule sch(func);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto [io, ii] = split(sch, i, {infer, 4}).take<2>();
  const auto [jo, ji] = split(sch, j, {infer, 3}).take<2>();
  reorder(sch, {io, jo, ii, ji, k});
  fuse(sch, {io, jo});
  cache_write(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, func);
}

TEST(cache_write, follows_fused_loops_that_were_split_into_parts_that_do_not_divide) {
  const auto func = matmul(10, 7, 4);
  Schedule sch(func);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  split(sch, fuse(sch, {i, j}), {infer, 16});
  cache_write(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, func);
  // Of three loops, into three parts.
  const auto copied = program(R"((A: T.Buffer((5, 6, 7)), B: T.Buffer((5, 6, 7))):
    for i, j, k in T.grid(5, 6, 7):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)
)");
  Schedule deep(copied);
  split(deep, fuse(deep, get_loops(deep, get_block(deep, "B"))), {infer, 4, 8});
  cache_write(deep, get_block(deep, "B"), 0, "local");
  expect_sound(deep, copied);
}

TEST(cache_write, refuses_a_limit_within_the_rows_of_fused_loops) {
  const auto error = [](int limit) {
    Schedule sch(program(fmt::format(R"((A: T.Buffer((10, 7)), C: T.Buffer((10, 7))):
    B = T.alloc_buffer((10, 7))
    for fo, fi in T.grid(5, 16):
        with T.block("B"):
            vi = T.axis.spatial(10, (fo * 16 + fi) // 7)
            vj = T.axis.spatial(7, (fo * 16 + fi) % 7)
            T.where(fo * 16 + fi < {})
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(5, 7):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)",
                                     limit)));
    return error_of([&] { cache_write(sch, get_block(sch, "B"), 0, "local"); }).substr(0, 31);
  };
  EXPECT_EQ(error(69), "step_keeps_results: cache_write");
  EXPECT_EQ(error(63), "");
  EXPECT_EQ(error(70), "");
}

TEST(cache_write, stays_in_the_loop_that_it_shares_with_readers) {
  const auto func = program(R"((A: T.Buffer((32, 8)), C: T.Buffer((32, 8))):
    B = T.alloc_buffer((32, 8))
    for io in range(4):
        for ii, j in T.grid(8, 8):
            with T.block("B"):
                vi = T.axis.spatial(32, io * 8 + ii)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for ii, j in T.grid(8, 8):
            with T.block("C"):
                vi = T.axis.spatial(32, io * 8 + ii)
                vj = T.axis.spatial(8, j)
                C[vi, vj] = B[vi, 7 - vj]
)");
  Schedule sch(func);
  const BlockRV copy = cache_write(sch, get_block(sch, "B"), 0, "shared");
  EXPECT_EQ(sch.name(get_loops(sch, copy)[0]), "io");
  expect_sound(sch, func);
  Schedule both(func);
  const BlockRV c = get_block(both, "C");
  cache_write(both, get_block(both, "B"), 0, "shared", std::vector{c});
  EXPECT_NE(body_of(both).find("C[vi, vj] = B_shared[vi, 7 - vj]"), std::string::npos);
  expect_sound(both, func);
}

constexpr std::string_view in_two_blocks = R"((A: T.Buffer((8, 4)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("init"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.float32(0)
        for k in range(4):
            with T.block("update"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.reduce(4, k)
                T.reads(C[vi], A[vi, vk])
                T.writes(C[vi])
                C[vi] = C[vi] + A[vi, vk]
)";

TEST(cache_write, moves_every_writer) {
  const auto func = program(in_two_blocks);
  Schedule sch(func);
  cache_write(sch, get_block(sch, "update"), 0, "local");
  EXPECT_NE(body_of(sch).find("C_local[vi] = T.float32(0)"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_write, knows_digits_of_fused_loops_of_any_size) {
  const auto func = program(R"((a: T.handle, c: T.handle):
    n = T.int32(is_size_var=True)
    A = T.match_buffer(a, (n, 64))
    C = T.match_buffer(c, (n, 64))
    for i, j in T.grid((n + 31) // 32 * 32, 64):
        with T.block("C"):
            vi = T.axis.spatial((n + 31) // 32 * 32, i)
            vj = T.axis.spatial(64, j)
            T.where(i < n)
            C[vi, vj] = A[vi, vj] * T.float32(2)
)");
  Schedule sch(func);
  fuse(sch, get_loops(sch, get_block(sch, "C")));
  cache_write(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, func);
}

/// Why a cache of what block C writes is refused.
std::string cache_of_reduction(std::string_view init, std::string_view update) {
  Schedule sch(
      program(fmt::format(R"((A: T.Buffer((8, 4)), C: T.Buffer((8, 4)), D: T.Buffer((8, 4))):
    for i, k in T.grid(8, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                {}
            {}
)",
                          init, update)));
  return error_of([&] { cache_write(sch, get_block(sch, "C"), 0, "local"); });
}

TEST(cache_write, refuses_reductions_whose_init_does_not_write_what_they_update) {
  const std::string_view update = "C[vi, 0] = C[vi, 0] + A[vi, vk]";
  EXPECT_EQ(cache_of_reduction("C[vi, 0] = 0", update), "");
  const std::string refused =
      "step_keeps_results: cache_write: results may change: block C reads what was in buffer C "
      "before";
  EXPECT_EQ(cache_of_reduction("if vi > 3: C[vi, 0] = 0", update), refused);
  EXPECT_EQ(cache_of_reduction("C[7 - vi, 0] = 0", update), refused);
  const std::string_view rows = "for j in range(4): C[vi, j] = C[vi, j] + A[vi, vk]";
  EXPECT_EQ(cache_of_reduction("for j in range(4): C[vi, j] = 0", rows), "");
  EXPECT_EQ(cache_of_reduction("for j in range(2): C[vi, j] = 0", rows), refused);
}

TEST(cache_write, refuses_inside_of_blocks_what_their_init_does_not_write) {
  // The copies of an update in place read more than the init of the block around them writes.
  Schedule sch(program(R"((A: T.Buffer((8, 4)), C: T.Buffer((8,))):
    for i, k in T.grid(8, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i < 5)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
)"));
  blockize(sch, get_loops(sch, get_block(sch, "C"))[0]);
  cache_inplace(sch, get_block(sch, "C"), 0, "local");
  EXPECT_EQ(error_of([&] { cache_write(sch, get_block(sch, "C_o"), 0, "local"); }),
            "step_keeps_results: cache_write: results would change: C_o (ax0_1=5) reads C_local_1, "
            "and the value is not copied there");
}

TEST(cache_write, refuses_what_would_lose_values) {
  Schedule strided(program(R"((C: T.Buffer((16,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi * 2] = T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { cache_write(strided, get_block(strided, "C"), 0, "local"); }),
            "step_keeps_results: cache_write: results may change: which elements of buffer C block "
            "C writes is not "
            "known exactly");
  Schedule guarded(program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            if A[vi] < T.float32(0):
                C[vi] = T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { cache_write(guarded, get_block(guarded, "C"), 0, "local"); }),
            "step_keeps_results: cache_write: results may change: which elements of buffer C block "
            "C writes is not "
            "known exactly");
  Schedule in_place(program(R"((C: T.Buffer((8,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { cache_write(in_place, get_block(in_place, "C"), 0, "local"); }),
            "step_keeps_results: cache_write: results may change: block C reads what was in buffer "
            "C before");
}

TEST(cache_write, leaves_reductions_that_start_outside_of_the_scope) {
  const auto reduction = [](const char* outer, const char* inner) {
    return program(fmt::format(R"((A: T.Buffer((8, 12)), C: T.Buffer((8,))):
    for k in range({}):
        with T.block("part"):
            T.reads(A[0:8, 0:12], C[0:8])
            T.writes(C[0:8])
            for i, k1 in T.grid(8, {}):
                with T.block("C"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.reduce(12, k * {} + k1)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
)",
                               outer, inner, inner));
  };
  Schedule sch(reduction("3", "4"));
  const BlockRV block = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { cache_write(sch, block, 0, "local"); }),
            "step_keeps_results: cache_write: results may change: block C reads what was in buffer "
            "C before");
  EXPECT_EQ(error_of([&] { write_at(sch, get_loops(sch, block)[0], block, 0, "local"); }),
            "step_keeps_results: write_at: results may change: block C reads what was in buffer C "
            "before");
  EXPECT_EQ(error_of([&] { reindex(sch, block, "C"); }),
            "step_keeps_results: reindex: results would change: C (i=0, k1=0) reads C_reindex, and "
            "the value is not copied there");
  const auto whole = reduction("1", "12");
  Schedule all(whole);
  cache_write(all, get_block(all, "C"), 0, "local");
  expect_sound(all, whole);
}

TEST(cache_write, refuses_consumers_that_read_more) {
  const auto func = program(R"((A: T.Buffer((4, 8)), C: T.Buffer((4,))):
    B = T.alloc_buffer((4, 8))
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for j in range(1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[0, vi]
)");
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  const BlockRV b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { cache_write(sch, b, 1, "local"); }),
            "block_has_the_buffer: cache_write: block B writes no such buffer");
  EXPECT_EQ(error_of([&] { cache_write(sch, b, 0, "local", std::vector{c}); }),
            "step_keeps_results: cache_write: results may change: block C reads elements of buffer "
            "B that "
            "are not in the cache");
}

}  // namespace
}  // namespace loopsmith
