// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_expression.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// A map from three axes to those whose names are given, in that order.
Ptr<IndexMap> map_to(std::string_view axes) {
  IndexMap map{.initial_indices = {var("i"), var("j"), var("k")}, .final_indices = {}};
  for (const char axis : axes) {
    map.final_indices.push_back(map.initial_indices[static_cast<std::size_t>(axis - 'i')]);
  }
  return make(std::move(map));
}

/// Sums over k what `value` is.
Ptr<PrimFunc> sum_of(std::string_view value) {
  return program(fmt::format(
      R"((A: T.Buffer((6, 8)), B: T.Buffer((9, 5), "int8"), D: T.Buffer((8,)), C: T.Buffer((6, 5))):
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + {}
)",
      value));
}

/// The program after the step, which is sound.
std::string cached(std::string_view value, std::string_view axes, const char* buffer = "B") {
  const auto func = sum_of(value);
  Schedule sch(func);
  cache_expression(sch, get_block(sch, "C"), buffer, "global", map_to(axes));
  expect_sound(sch, func);
  expect_replays(sch, func);
  return body_of(sch);
}

/// What is said where the step is refused.
std::string refusal(std::string_view value, std::string_view axes, const char* buffer = "B") {
  Schedule sch(sum_of(value));
  return error_of(
      [&] { cache_expression(sch, get_block(sch, "C"), buffer, "global", map_to(axes)); });
}

TEST(cache_expression, computes_a_conversion_once_for_all_rows) {
  EXPECT_EQ(cached("A[vi, vk] * T.Cast(\"float32\", B[vk, vj])", "jk"),
            R"(    B_global = T.alloc_buffer((5, 8))
    for ax0, ax1 in T.grid(5, 8):
        with T.block("B_global"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(B[v1, v0])
            T.writes(B_global[v0, v1])
            B_global[v0, v1] = T.Cast("float32", B[v1, v0])
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B_global[vj, vk])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_global[vj, vk]
)");
}

TEST(cache_expression, takes_the_largest_expression_of_the_axes) {
  const std::string body =
      cached("A[vi, vk] * (T.Cast(\"float32\", B[vk, vj]) * D[vk] + T.float32(1))", "jk");
  EXPECT_NE(body.find("T.Cast(\"float32\", B[v1, v0]) * D[v1] + T.float32(1)"), std::string::npos)
      << body;
}

TEST(cache_expression, keeps_conditions_of_what_it_reads) {
  const std::string body = cached(
      "A[vi, vk] * T.if_then_else(1 <= vk, T.Cast(\"float32\", B[vk - 1, vj]), T.float32(0))",
      "kj");
  EXPECT_NE(body.find("T.if_then_else(1 <= v1, T.Cast(\"float32\", B[v1 - 1, v0])"),
            std::string::npos)
      << body;
}

TEST(cache_expression, takes_one_of_the_ways_in_which_a_buffer_is_read) {
  const auto func = program(R"((A: T.Buffer((8, 6)), C: T.Buffer((6, 6))):
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vk, vi] * A[vk, vj]
)");
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  cache_expression(sch, c, "A", "global", map_to("kj"));
  cache_expression(sch, c, "A", "local", map_to("ik"));
  EXPECT_NE(body_of(sch).find("C[vi, vj] + A_local[vi, vk] * A_global[vk, vj]"), std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(cache_expression, replaces_all_that_is_equal) {
  const std::string body = cached(
      "T.if_then_else(vi < 2, D[vk] * T.float32(2), T.float32(0)) + A[vi, vk] * (D[vk] * "
      "T.float32(2))",
      "k", "D");
  EXPECT_EQ(body.find("D[vk]"), std::string::npos) << body;
}

TEST(cache_expression, refuses_what_is_not_there_or_not_one) {
  EXPECT_EQ(refusal("A[vi, vk] * T.Cast(\"float32\", B[vk, vj])", "k"),
            "expression_is_there: cache_expression: no expression of block C reads buffer B and "
            "depends on the axes of the index map alone");
  EXPECT_EQ(refusal("A[vi, vk] * (D[vk] + A[vi, 7 - vk] * D[7 - vk])", "k", "D"),
            "expression_is_there: cache_expression: block C computes D[7 - vk] and D[vk] of "
            "buffer D, which are not equal");
  EXPECT_EQ(refusal("A[vi, vk] * D[vk]", "jk", "D"),
            "index_map_uses_the_same_axes: cache_expression: axis vj appears in the new indices "
            "but not in the old ones");
  EXPECT_EQ(refusal("A[vi, vk] * D[vk]", "jk", "X"),
            "block_has_the_buffer: cache_expression: block C reads no such buffer");
}

TEST(cache_expression, computes_nothing_that_was_computed_under_a_condition) {
  EXPECT_EQ(refusal("T.if_then_else(vi < 2, D[vk] * T.float32(2), A[vi, vk])", "k", "D"),
            "step_keeps_results: cache_expression: results may change: block C computes D[vk] * "
            "T.float32(2) under a condition, and what it reads elsewhere may lie beyond its "
            "buffer");
  const auto func = program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            C[vi] = T.if_then_else(vi < 2, A[vi], T.float32(0))
)");
  Schedule sch(func);
  const auto i = var("i");
  const auto map = make(IndexMap{.initial_indices = {i}, .final_indices = {i}});
  EXPECT_EQ(error_of([&] { cache_expression(sch, get_block(sch, "C"), "A", "global", map); }),
            "step_keeps_results: cache_expression: results may change: block C is not known to "
            "write for all "
            "values of its axes");
}

TEST(cache_expression, reads_no_more_than_there_is) {
  const auto func = program(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            C[vi] = A[vi + 4] * T.float32(2)
)");
  Schedule sch(func);
  const auto i = var("i");
  const auto map = make(IndexMap{.initial_indices = {i}, .final_indices = {i}});
  cache_expression(sch, get_block(sch, "C"), "A", "global", map);
  EXPECT_NE(body_of(sch).find("T.where(ax0 + 4 < 8)"), std::string::npos) << body_of(sch);
  expect_replays(sch, func);
}

TEST(cache_expression, reads_inputs_whether_the_block_runs_or_not) {
  const auto func = program(R"((a: T.handle, B: T.Buffer((8,)), c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8))
    C = T.match_buffer(c, (n,))
    for i, k in T.grid(n, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * (B[vk] * T.float32(2))
)");
  Schedule sch(func);
  const auto i = var("i"), k = var("k");
  const auto map = make(IndexMap{.initial_indices = {i, k}, .final_indices = {k}});
  cache_expression(sch, get_block(sch, "C"), "B", "global", map);
  expect_replays(sch, func);
}

TEST(cache_expression, reads_nothing_that_changes_before_it_is_used) {
  Schedule sch(program(R"((A: T.Buffer((8,)), C: T.Buffer((8, 8))):
    for i, j in T.grid(8, 8):
        with T.block("A"):
            v, w = T.axis.remap("SS", [i, j])
            A[v] = T.Cast("float32", w)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi] * T.float32(2)
)"));
  const auto i = var("i"), j = var("j");
  const auto map = make(IndexMap{.initial_indices = {i, j}, .final_indices = {i}});
  EXPECT_EQ(error_of([&] { cache_expression(sch, get_block(sch, "C"), "A", "global", map); }),
            "step_keeps_results: cache_expression: results may change: instances of "
            "`A_global[v0] = A[v0] * T.float32(2)` run more than once already");
}

TEST(cache_expression, reads_what_others_leave_as_it_is) {
  const auto func = program(R"((A: T.Buffer((16, 8)), C: T.Buffer((8, 8))):
    for i in range(8):
        with T.block("A"):
            v = T.axis.spatial(8, i)
            A[v + 8, 0] = T.Cast("float32", v)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
)");
  Schedule sch(func);
  const auto i = var("i"), j = var("j");
  const auto map = make(IndexMap{.initial_indices = {i, j}, .final_indices = {i, j}});
  cache_expression(sch, get_block(sch, "C"), "A", "global", map);
  expect_replays(sch, func);
}

TEST(cache_expression, computes_nothing_that_has_effects) {
  EXPECT_EQ(refusal("A[vi, vk] * T.call_extern(\"float32\", \"next\", D[vk])", "k", "D"),
            "step_keeps_results: cache_expression: results may change: block C asserts, or calls "
            "what may have effects");
}

}  // namespace
}  // namespace loopsmith
