// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/prefetch.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

constexpr std::string_view prefetched_sums = R"(
@T.prim_func
def sums(A: T.Buffer((16, 8)), B: T.Buffer((16,))):
    for i, k in T.grid(16, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)";

TEST(prefetch, asks_for_what_a_later_iteration_reads) {
  Schedule schedule(parse_function(prefetched_sums, {}));
  const BlockRV block = get_block(schedule, "B");
  const auto loops = get_loops(schedule, block);
  prefetch.apply(schedule, {.block = block, .read_buffer_index = "A", .loop = loops[0]});
  schedule.check_tree();
  const std::string text = script(schedule.func());
  EXPECT_NE(text.find("T.prefetch(A[i + 1, 0:8])"), std::string::npos) << text;
  const auto verdict = interp::compare(schedule.original(), schedule.mod());
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

constexpr std::string_view prefetched_shifted = R"(
@T.prim_func
def shifted(A: T.Buffer((16,)), B: T.Buffer((15,))):
    C = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] * T.float32(2)
    for i in range(15):
        with T.block("B"):
            vi = T.axis.spatial(15, i)
            B[vi] = C[vi + 1]
)";

/// A schedule in which C is prefetched where B reads it.
Schedule with_prefetch_of_c() {
  Schedule schedule(parse_function(prefetched_shifted, {}));
  const BlockRV block = get_block(schedule, "B");
  const LoopRV loop = get_loops(schedule, block)[0];
  prefetch.apply(schedule, {.block = block, .read_buffer_index = "C", .loop = loop});
  return schedule;
}

std::string checked_text(const Schedule& schedule) {
  schedule.check_tree();
  EXPECT_TRUE(is_well_formed(schedule.mod()));
  return script(schedule.func());
}

TEST(prefetch, follows_its_buffer_to_another_scope_and_layout) {
  Schedule schedule = with_prefetch_of_c();
  const BlockRV block = get_block(schedule, "C");
  set_scope.apply(schedule, {.block = block, .buffer_index = "C", .storage_scope = "local"});
  const auto i = var("i");
  const auto tiles =
      make(IndexMap{.initial_indices = {i}, .final_indices = {floordiv(i, 4), floormod(i, 4)}});
  transform_layout.apply(schedule, {.block = block, .buffer = 0, .index_map = tiles});
  const std::string text = checked_text(schedule);
  EXPECT_NE(text.find("T.prefetch(C_local["), std::string::npos) << text;
}

TEST(prefetch, goes_with_a_buffer_that_is_inlined) {
  Schedule schedule = with_prefetch_of_c();
  compute_inline.apply(schedule, {.block = get_block(schedule, "C")});
  EXPECT_EQ(checked_text(schedule).find("prefetch"), std::string::npos);
}

TEST(prefetch, needs_a_buffer_that_the_block_reads_and_a_loop_around_it) {
  Schedule schedule(parse_function(prefetched_sums, {}));
  const BlockRV block = get_block(schedule, "B");
  const auto loops = get_loops(schedule, block);
  EXPECT_FALSE(
      prefetch.can_apply(schedule, {.block = block, .read_buffer_index = "X", .loop = loops[0]}));
  EXPECT_TRUE(prefetch.can_apply(
      schedule, {.block = block, .read_buffer_index = "A", .loop = loops[1], .offset = 4}));
}

TEST(prefetch, asks_for_no_buffer_before_it_is_made) {
  Schedule schedule(parse_function(R"(
@T.prim_func
def f(A: T.Buffer((16,), "int32")):
    for i in range(16):
        x: T.int32 = A[i]
        for j in range(2):
            with T.block("B"):
                v = T.axis.spatial(16, i)
                A[v] = A[v] + x
            x = x + 1
)",
                                   {}));
  const BlockRV block = get_block(schedule, "B");
  const auto loops = get_loops(schedule, block);
  const PrefetchArguments outside{.block = block, .read_buffer_index = "x", .loop = loops[0]};
  const auto refusal = prefetch.refusal_of(schedule, outside);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->condition->id, "block_has_the_buffer");
  EXPECT_EQ(*refusal->subjects[1].as<std::string>(), "reads from outside of the loop");
  EXPECT_TRUE(
      prefetch.can_apply(schedule, {.block = block, .read_buffer_index = "x", .loop = loops[1]}));
}

TEST(prefetch, reads_no_index_that_the_loop_does_not_read) {
  const auto text_of = [](std::string_view guard) {
    Schedule schedule(parse_function(fmt::format(R"(
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        {}with T.block("C"):
                v = T.axis.spatial(8, i)
                C[v] = A[B[v]]
)",
                                                 guard),
                                     {}));
    const BlockRV block = get_block(schedule, "C");
    prefetch(schedule, block, "A", get_loops(schedule, block)[0], 2);
    return script(schedule.func());
  };
  EXPECT_NE(text_of("").find("T.prefetch(A[B[T.min(i, 5) + 2]])"), std::string::npos)
      << text_of("");
  const std::string guarded = text_of("if i < 6:\n            ");
  EXPECT_NE(guarded.find("T.prefetch(A[0:16])"), std::string::npos) << guarded;
}

}  // namespace
}  // namespace loopsmith
