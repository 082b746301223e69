// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_read.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(cache_read, copies_an_input_where_the_scope_starts) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV copy = cache_read(sch, get_block(sch, "B"), 0, "shared");
  EXPECT_EQ(sch.name(copy), "A_shared");
  EXPECT_EQ(body_of(sch), R"(    B = T.alloc_buffer((8, 4))
    A_shared = T.alloc_buffer((8, 4), scope="shared")
    for ax0, ax1 in T.grid(8, 4):
        with T.block("A_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(A[v0, v1])
            T.writes(A_shared[v0, v1])
            A_shared[v0, v1] = A[v0, v1]
    for i, j in T.grid(8, 4):
        with T.block("B"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(A_shared[v_i, v_j])
            T.writes(B[v_i, v_j])
            B[v_i, v_j] = A_shared[v_i, v_j] + T.float32(1)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(B[v_i, v_j])
            T.writes(C[v_i, v_j])
            C[v_i, v_j] = B[v_i, v_j] * T.float32(2)
)");
  expect_sound(sch, func);
}

TEST(cache_read, copies_an_intermediate_after_its_producer) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV copy = cache_read(sch, get_block(sch, "C"), "B", "local");
  EXPECT_EQ(get_producers(sch, copy)[0], get_block(sch, "B"));
  EXPECT_EQ(get_consumers(sch, copy)[0], get_block(sch, "C"));
  expect_sound(sch, func);
}

constexpr std::string_view tiled = R"((A: T.Buffer((32, 8)), C: T.Buffer((32, 8))):
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
)";

TEST(cache_read, stays_in_the_loop_that_producer_and_consumer_share) {
  const auto func = program(tiled);
  Schedule sch(func);
  const BlockRV copy = cache_read(sch, get_block(sch, "C"), 0, "shared");
  const auto loops = get_loops(sch, copy);
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(sch.name(loops[0]), "io");
  EXPECT_NE(body_of(sch).find(R"(        for ax0, ax1 in T.grid(8, 8):
            with T.block("B_shared"):
                v0 = T.axis.spatial(32, io * 8 + ax0)
                v1 = T.axis.spatial(8, ax1)
)"),
            std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_read, makes_a_tile_inside_a_block) {
  const auto func = program(R"((A: T.Buffer((32, 32)), C: T.Buffer((32, 32))):
    for i, j in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
            T.writes(C[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
            for x, y in T.grid(16, 16):
                with T.block("C"):
                    vx, vy = T.axis.remap("SS", [x, y])
                    C[vi * 16 + vx, vj * 16 + vy] = A[vi * 16 + vx, vj * 16 + vy] + T.float32(1)
)");
  Schedule sch(func);
  cache_read(sch, get_block(sch, "C"), 0, "shared");
  EXPECT_NE(body_of(sch).find(R"(            A_shared = T.alloc_buffer((16, 16), scope="shared")
            for ax0, ax1 in T.grid(16, 16):
                with T.block("A_shared"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(A[vi * 16 + v0, vj * 16 + v1])
                    T.writes(A_shared[v0, v1])
                    A_shared[v0, v1] = A[vi * 16 + v0, vj * 16 + v1]
)"),
            std::string::npos)
      << body_of(sch);
  EXPECT_NE(body_of(sch).find("= A_shared[vx, vy]"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_read, changes_the_consumers_that_are_asked_for) {
  const auto func = program(R"((A: T.Buffer((8,)), B: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[7 - vi]
)");
  Schedule all(func);
  cache_read(all, get_block(all, "C"), 0, "local");
  EXPECT_NE(body_of(all).find("B[vi] = A_local[vi]"), std::string::npos) << body_of(all);
  expect_sound(all, func);
  Schedule one(func);
  const BlockRV c = get_block(one, "C");
  cache_read(one, c, 0, "local", std::vector{c});
  EXPECT_NE(body_of(one).find("B[vi] = A[vi]"), std::string::npos) << body_of(one);
  EXPECT_NE(body_of(one).find("C[vi] = A_local[7 - vi]"), std::string::npos) << body_of(one);
  expect_sound(one, func);
}

TEST(cache_read, copies_what_was_written_last) {
  const auto func = program(R"((A: T.Buffer((8,)), B: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(3)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
)");
  Schedule late(func);
  cache_read(late, get_block(late, "C"), 0, "local");
  EXPECT_NE(body_of(late).find("B[vi] = A[vi]"), std::string::npos) << body_of(late);
  expect_sound(late, func);
  Schedule early(func);
  const BlockRV b = get_block(early, "B");
  cache_read(early, b, 0, "local");
  expect_sound(early, func);
  const BlockRV c = get_block(early, "C");
  EXPECT_EQ(error_of([&] { cache_read(early, c, 0, "local", std::vector{b, c}); }),
            "consumer_reads_the_buffer: cache_read: block B does not read buffer A in the scope of "
            "block C");
  Schedule both(func);
  const BlockRV first = get_block(both, "B");
  const BlockRV last = get_block(both, "C");
  EXPECT_EQ(error_of([&] { cache_read(both, last, 0, "local", std::vector{first, last}); }),
            "step_keeps_results: cache_read: results may change: block A writes buffer A between a "
            "copy and "
            "its readers");
}

TEST(cache_read, follows_a_scan) {
  const auto func = program(R"((X: T.Buffer((8, 4)), S: T.Buffer((9, 4))):
    for t in range(8):
        for j in range(4):
            with T.block("read"):
                vt = T.axis.opaque(8, t)
                vj = T.axis.spatial(4, j)
                T.reads(S[vt, vj])
                T.writes(X[vt, vj])
                X[vt, vj] = S[vt, vj]
        for j in range(4):
            with T.block("step"):
                vt = T.axis.opaque(8, t)
                vj = T.axis.spatial(4, j)
                T.reads(X[vt, vj])
                T.writes(S[vt + 1, vj])
                S[vt + 1, vj] = X[vt, vj] + T.float32(1)
)");
  Schedule sch(func);
  const BlockRV copy = cache_read(sch, get_block(sch, "read"), 0, "local");
  EXPECT_EQ(sch.name(get_loops(sch, copy)[0]), "t");
  expect_sound(sch, func);
}

TEST(cache_read, guards_what_does_not_divide) {
  const auto func = two_stages(10, 4);
  Schedule sch(func);
  split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 4});
  cache_read(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, func);
}

TEST(cache_read, takes_symbolic_sizes) {
  const auto func = program(R"((a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4))
    C = T.match_buffer(c, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Schedule sch(func);
  cache_read(sch, get_block(sch, "C"), 0, "local");
  cache_write(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, func);
}

TEST(cache_read, refuses_what_it_cannot_do) {
  const auto func = two_stages();
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  const BlockRV c = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { cache_read(sch, b, 1, "local"); }),
            "block_has_the_buffer: cache_read: block B reads no such buffer");
  EXPECT_EQ(error_of([&] { cache_read(sch, b, 0, "attic"); }),
            "name_is_known: cache_read: there is no storage scope attic");
  EXPECT_EQ(error_of([&] { cache_read(sch, b, 0, "local", std::vector{c}); }),
            "consumer_reads_the_buffer: cache_read: block C does not read buffer A in the scope of "
            "block B");
  EXPECT_EQ(sch.steps().size(), 2u);

  Schedule in_place(program(R"((A: T.Buffer((8,))):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + T.float32(1)
)"));
  const BlockRV update = get_block(in_place, "A");
  EXPECT_EQ(error_of([&] { cache_read(in_place, update, 0, "local"); }),
            "step_keeps_results: cache_read: results would change: block A both reads and writes "
            "buffer A");
  EXPECT_EQ(error_of([&] { cache_read(in_place, get_block(in_place, "root"), 0, "local"); }),
            "block_has_the_buffer: cache_read: block root reads no such buffer");

  Schedule loose(program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    with T.block("root"):
        T.reads()
        T.writes()
        A[0] = T.float32(1)
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
)"));
  EXPECT_EQ(
      error_of([&] { cache_read(loose, get_block(loose, "B"), 0, "local"); }),
      "uses_are_declared: cache_read: buffer A is used outside of the blocks that declare it");
}

TEST(cache_read, copies_what_was_written_alone) {
  // Of the last row only two elements have a value.
  const auto func = program(R"((A: T.Buffer((14,)), C: T.Buffer((14,))):
    B = T.alloc_buffer((4, 4))
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4] = A[vi]
    for i in range(14):
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi // 4, vi % 4]
)");
  Schedule sch(func);
  EXPECT_EQ(error_of([&] { cache_read(sch, get_block(sch, "C"), 0, "local"); }),
            "step_keeps_results: cache_read: results may change: whether all elements of buffer B "
            "that the "
            "copy for block C takes were written before is not known");
  // Two blocks write all of it together.
  const auto parts = program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    with T.block("first"):
        B[0] = T.float32(0)
    for i in range(1, 8):
        with T.block("rest"):
            vi = T.axis.spatial((1, 8), i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
)");
  Schedule whole(parts);
  cache_read(whole, get_block(whole, "C"), 0, "local");
  expect_sound(whole, parts);
}

TEST(cache_read, copies_into_an_inner_scope_what_is_written_by_then) {
  const auto in_scope = [](int rows, std::string_view first) {
    return program(fmt::format(R"((A: T.Buffer((10, 8)), C: T.Buffer((8, 8))):
    B = T.alloc_buffer((10, 8))
    for i in range(8):
        for y, x in T.grid({}, 8):
            with T.block("B"):
                vi = T.axis.spatial(10, {} + y)
                vj = T.axis.spatial(8, x)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        with T.block("scope"):
            vo = T.axis.spatial(8, i)
            T.reads(B[0:10, 0:8])
            T.writes(C[vo, 0:8])
            for x in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, x)
                    C[vo, vj] = B[vo, vj] + B[vo * vj % 3 + vo, vj]
)",
                               rows, first));
  };
  const auto whole = in_scope(10, "0");
  Schedule sch(whole);
  cache_read(sch, get_block(sch, "C"), 0, "local");
  expect_sound(sch, whole);
  Schedule rows(in_scope(3, "i"));
  EXPECT_EQ(error_of([&] { cache_read(rows, get_block(rows, "C"), 0, "local"); }),
            "step_keeps_results: cache_read: results may change: whether all elements of buffer B "
            "that the "
            "copy for block C takes were written before is not known");
}

}  // namespace
}  // namespace loopsmith
