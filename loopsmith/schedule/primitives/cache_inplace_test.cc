// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_inplace.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view update = R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + B[vi]
)";

TEST(cache_inplace, copies_there_and_back) {
  const auto func = program(update);
  Schedule sch(func);
  const auto [there, back] = cache_inplace(sch, get_block(sch, "A"), "A", "local").take<2>();
  EXPECT_EQ(get_consumers(sch, there)[0], get_block(sch, "A"));
  EXPECT_NE(there, back);
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("A_local[v0] = A[v0]"), std::string::npos) << text;
  EXPECT_NE(text.find("A_local[vi] = A_local[vi] + B[vi]"), std::string::npos) << text;
  EXPECT_NE(text.find("A[v0] = A_local[v0]"), std::string::npos) << text;
  expect_sound(sch, func);
}

TEST(cache_inplace, takes_updates_of_a_part) {
  const auto func = program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for t in range(3):
        for i in range(4):
            with T.block("A"):
                vt = T.axis.opaque(3, t)
                vi = T.axis.spatial(4, i)
                T.reads(A[vi * 2], B[vi])
                T.writes(A[vi * 2])
                if B[vi] < T.float32(0.5):
                    A[vi * 2] = A[vi * 2] + B[vi]
        for i in range(8):
            with T.block("B"):
                vt = T.axis.opaque(3, t)
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
)");
  Schedule sch(func);
  const auto copies = cache_inplace(sch, get_block(sch, "A"), 0, "local");
  EXPECT_EQ(sch.name(get_loops(sch, copies[0])[0]), "t");
  expect_sound(sch, func);
}

TEST(cache_inplace, refuses_blocks_that_only_read) {
  Schedule sch(program(update));
  const BlockRV a = get_block(sch, "A");
  EXPECT_EQ(
      error_of([&] { cache_inplace(sch, a, "B", "local"); }),
      "block_updates_the_buffer: cache_inplace: block A reads buffer B and does not write it");
}

TEST(cache_inplace, refuses_what_is_written_only_inside) {
  // The block around reads B only after it has written it.
  Schedule sch(program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    with T.block("outer"):
        for i in range(8):
            with T.block("inner"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)
                C[vi] = B[vi] + T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { cache_inplace(sch, get_block(sch, "inner"), "B", "local"); }),
            "step_keeps_results: cache_inplace: results may change: whether all elements of buffer "
            "B that the "
            "copy for block inner takes were written before is not known");
}

TEST(cache_inplace, refuses_what_another_branch_writes) {
  Schedule sch(program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    if A[0] > T.float32(0.5):
        for i in range(8):
            with T.block("one"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
                C[vi] = B[vi]
    else:
        for i in range(8):
            with T.block("other"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi], B[vi])
                T.writes(B[vi], C[vi])
                B[vi] = A[vi] * T.float32(2)
                C[vi] = B[vi] + T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { cache_inplace(sch, get_block(sch, "other"), "B", "local"); }),
            "step_keeps_results: cache_inplace: results may change: whether all elements of buffer "
            "B that the "
            "copy for block other takes were written before is not known");
}

}  // namespace
}  // namespace loopsmith
