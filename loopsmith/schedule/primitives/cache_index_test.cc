// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_index.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

Ptr<PrimFunc> resize() {
  return program(R"((A: T.Buffer((8, 9)), B: T.Buffer((16, 16))):
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vi // 2, vj // 2 + 1]
)");
}

TEST(cache_index, computes_each_index_once) {
  const auto func = resize();
  Schedule sch(func);
  const auto made = cache_index(sch, get_block(sch, "B"), "local");
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(sch.name(made[0]), "index_0");
  EXPECT_NE(body_of(sch).find(R"(    for ax0, ax1 in T.grid(16, 16):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads()
            T.writes(index_var_0[v0, v1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 4
    for ax0_1 in range(16):
        with T.block("index_1"):
            v0 = T.axis.spatial(16, ax0_1)
            T.reads()
            T.writes(index_var_1[v0])
            index_var_1[v0] = v0 // 2
)"),
            std::string::npos)
      << body_of(sch);
  EXPECT_NE(body_of(sch).find("A[index_var_0[vi, vj], index_var_1[vj]]"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_index, keeps_indices_of_axes_that_start_elsewhere) {
  const auto func = program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(-3, 5):
        with T.block("B"):
            v = T.axis.spatial((-3, 5), i)
            B[v + 3] = A[(v + 3) // 2]
)");
  Schedule sch(func);
  cache_index(sch, get_block(sch, "B"), "local");
  EXPECT_NE(body_of(sch).find("B[v + 3] = A[index_var_0[v - -3]]"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_index, takes_what_occurs_often_enough) {
  const auto func = resize();
  Schedule sch(func);
  const auto made = cache_index(sch, get_block(sch, "B"), "global", 2);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_NE(body_of(sch).find("A[vi // 4 + vj // 4, index_var_0[vj]] + A[vi // 2, "
                              "index_var_0[vj] + 1]"),
            std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
  EXPECT_TRUE(cache_index(sch, get_block(sch, "B"), "global", 5).empty());
}

TEST(cache_index, leaves_what_depends_on_loops_and_loads) {
  const auto func = program(R"((A: T.Buffer((16,)), N: T.Buffer((8,), "int32"), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[0:16], N[0:8])
            T.writes(B[vi])
            B[vi] = T.float32(0)
            for k in range(2):
                B[vi] = B[vi] + A[vi + k] + A[T.min(T.max(N[vi // 2], 0), 7)]
)");
  Schedule sch(func);
  ASSERT_EQ(cache_index(sch, get_block(sch, "B"), "local").size(), 1u);
  EXPECT_NE(body_of(sch).find("N[index_var_0[vi]]"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_index, refuses_what_it_cannot_do) {
  Schedule sch(resize());
  EXPECT_EQ(error_of([&] { cache_index(sch, get_block(sch, "B"), "attic"); }),
            "name_is_known: cache_index: there is no storage scope attic");
  EXPECT_EQ(error_of([&] { cache_index(sch, get_block(sch, "root"), "local"); }),
            "block_stands_in_a_block: cache_index: block root has no block around it");
}

}  // namespace
}  // namespace loopsmith
