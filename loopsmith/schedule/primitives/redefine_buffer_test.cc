// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/redefine_buffer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(set_scope, names_the_buffer_after_its_memory) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  set_scope(sch, b, 0, "shared");
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("B_shared = T.alloc_buffer((8, 4), scope=\"shared\")"), std::string::npos)
      << text;
  EXPECT_NE(text.find("T.reads(B_shared[v_i, v_j])"), std::string::npos) << text;
  EXPECT_NE(text.find("C[v_i, v_j] = B_shared[v_i, v_j] * T.float32(2)"), std::string::npos);
  EXPECT_EQ(text.find(" B = "), std::string::npos) << text;
  expect_sound(sch, func);
  const auto before = sch.func();
  set_scope(sch, b, 0, "shared");
  EXPECT_TRUE(sch.func().same_as(before));
}

TEST(set_scope, leaves_snapshots_alone) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const Schedule copy = sch.copy();
  set_scope(sch, get_block(sch, "B"), "B", "local");
  EXPECT_EQ(body_of(copy).find("B_local"), std::string::npos);
}

TEST(set_scope, refuses_parameters_and_unknown_memories) {
  Schedule sch(two_stages());
  const BlockRV b = get_block(sch, "B");
  const BlockRV c = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { set_scope(sch, c, 0, "shared"); }),
            "buffer_is_allocated: set_scope: buffer C is not allocated by a block");
  EXPECT_EQ(error_of([&] { set_scope(sch, b, 0, "cellar"); }),
            "name_is_known: set_scope: there is no storage scope cellar");
  EXPECT_EQ(error_of([&] { set_scope(sch, b, 4, "shared"); }),
            "block_has_the_buffer: set_scope: block B writes no such buffer");
}

Ptr<PrimFunc> written_by_view() {
  return program(R"((C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(B[vi])
            V = T.match_buffer(B[vi:vi + 1], (1,), offset_factor=1)
            V[0] = T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
)");
}

TEST(set_scope, takes_views_along) {
  const auto func = written_by_view();
  Schedule sch(func);
  set_scope(sch, get_block(sch, "B"), 0, "local");
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("V = T.match_buffer(B_local[vi], (1,), scope=\"local\")"), std::string::npos)
      << text;
  expect_sound(sch, func);
  EXPECT_EQ(error_of([&] { reindex(sch, get_block(sch, "C"), "B_local"); }),
            "buffer_is_used_by_index: reindex: buffer B_local is reached through its pointer or "
            "a match_buffer");
}

TEST(set_scope, gives_no_common_memory_to_iterations_that_run_at_once) {
  const auto func = program(R"((A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[3]
)");
  Schedule sch(func);
  const LoopRV i = get_loop(sch, "i");
  const BlockRV copy = read_at(sch, i, get_block(sch, "B"), 0, "local");
  parallel(sch, i);
  // Of two loops, neither has all uses of the memory.
  version_loop(sch, {i}, {1});
  EXPECT_EQ(error_of([&] { set_scope(sch, copy, "A_local", "shared"); }).substr(0, 80),
            "step_keeps_results: set_scope: results would change: iterations of loop i, which");
}

TEST(unsafe_set_dtype, converts_what_views_store) {
  const auto func = written_by_view();
  Schedule sch(func);
  unsafe_set_dtype(sch, get_block(sch, "B"), 0, "float64");
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("V[0] = T.float64(1)"), std::string::npos) << text;
  expect_sound(sch, func);
}

TEST(set_axis_separator, leaves_views_as_they_are) {
  const auto func = written_by_view();
  Schedule sch(func);
  set_axis_separator(sch, get_block(sch, "C"), "B", {0});
  expect_sound(sch, func);
}

Ptr<PrimFunc> with_declared_view(const char* type) {
  return program(fmt::format(R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    D = T.decl_buffer((2, 4), "{}", data=B.data)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.Cast("float32", D[vi // 4, vi % 4])
)",
                             type));
}

TEST(set_scope, moves_buffers_that_share_memory) {
  const auto func = with_declared_view("float32");
  Schedule sch(func);
  set_scope(sch, get_block(sch, "B"), 0, "local");
  EXPECT_NE(body_of(sch).find("D = T.decl_buffer((2, 4), data=B_local.data, scope=\"local\")"),
            std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
  unsafe_set_dtype(sch, get_block(sch, "B"), 0, "float64");
  expect_sound(sch, func);
}

TEST(set_scope, refuses_buffers_of_another_type_in_its_memory) {
  Schedule sch(with_declared_view("int32"));
  const BlockRV b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { set_scope(sch, b, 0, "local"); }),
            "buffer_has_no_views: set_scope: a match_buffer or another buffer views buffer B");
  EXPECT_EQ(
      error_of([&] { unsafe_set_dtype(sch, b, 0, "float16"); }),
      "buffer_has_no_views: unsafe_set_dtype: a match_buffer or another buffer views buffer B");
  EXPECT_EQ(error_of([&] { cache_write(sch, b, 0, "local"); }),
            "buffer_is_used_by_index: cache_write: buffer B is reached through its pointer or a "
            "match_buffer");
}

TEST(unsafe_set_dtype, converts_where_the_buffer_is_used) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  unsafe_set_dtype(sch, get_block(sch, "B"), 0, "float64");
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("B = T.alloc_buffer((8, 4), \"float64\")"), std::string::npos) << text;
  EXPECT_NE(text.find("B[v_i, v_j] = T.Cast(\"float64\", A[v_i, v_j] + T.float32(1))"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("C[v_i, v_j] = T.Cast(\"float32\", B[v_i, v_j]) * T.float32(2)"),
            std::string::npos)
      << text;
  expect_sound(sch, func);
  EXPECT_EQ(error_of([&] { unsafe_set_dtype(sch, get_block(sch, "B"), 0, "float17"); }),
            "name_is_known: unsafe_set_dtype: there is no data type float17");
}

TEST(set_axis_separator, takes_parameters_too) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  set_axis_separator(sch, get_block(sch, "B"), 0, {1});
  set_axis_separator(sch, c, BufferSelector(0, BufferSelector::Side::write), {1});
  const auto made = sch.func();
  EXPECT_EQ(made->buffer_map[1]->axis_separators, std::vector<std::int64_t>{1});
  expect_sound(sch, func);
  EXPECT_EQ(error_of([&] { set_axis_separator(sch, c, 0, {3}); }),
            "arguments_fit: set_axis_separator: buffer C has 2 dimensions, and 3 is no list of "
            "some of them in order");
}

}  // namespace
}  // namespace loopsmith
