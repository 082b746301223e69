// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/changed_accesses.h"

#include <gtest/gtest.h>

#include <set>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;
using Names = std::set<std::string>;

/// The buffers of either state whose accesses may be others in the other one.
Names changed_between(const Schedule& before, const Schedule& after) {
  const ChangedAccesses changed(before, after);
  Names names;
  for (const Schedule* schedule : {&before, &after}) {
    for (const DefinedBuffer& each : buffers_of(*schedule, 0)) {
      if (changed.has(*each.buffer)) names.insert(each.buffer->name);
    }
  }
  return names;
}

TEST(changed_accesses, none_where_the_program_is_the_same) {
  const Schedule sch(matmul(16, 8, 12));
  EXPECT_EQ(changed_between(sch, sch.snapshot()), Names{});
}

TEST(changed_accesses, of_a_reader_are_those_that_go_to_its_cache) {
  Schedule sch(matmul(16, 8, 12));
  const BlockRV c = get_block(sch, "C");
  const Schedule before = sch.snapshot();
  cache_read(sch, c, 0, "local");
  EXPECT_EQ(changed_between(before, sch), (Names{"A", "A_local"}));
}

TEST(changed_accesses, are_those_of_a_block_that_moves) {
  Schedule sch(matmul(16, 8, 12));
  const BlockRV c = get_block(sch, "C");
  const BlockRV copy = cache_read(sch, c, 0, "local");
  const Schedule before = sch.snapshot();
  compute_at(sch, copy, get_loops(sch, c)[0]);
  EXPECT_EQ(changed_between(before, sch), (Names{"A", "A_local"}));
}

TEST(changed_accesses, are_all_inside_of_a_loop_that_runs_otherwise) {
  Schedule sch(matmul(16, 8, 12));
  const Schedule before = sch.snapshot();
  parallel(sch, get_loops(sch, get_block(sch, "C"))[0]);
  EXPECT_EQ(changed_between(before, sch), (Names{"A", "B", "C"}));
}

TEST(changed_accesses, are_those_of_an_init_that_goes_apart) {
  Schedule sch(matmul(16, 8, 12));
  const BlockRV c = get_block(sch, "C");
  const Schedule before = sch.snapshot();
  decompose_reduction(sch, c, get_loops(sch, c)[2]);
  EXPECT_EQ(changed_between(before, sch), (Names{"C"}));
}

TEST(changed_accesses, are_those_of_statements_in_another_order) {
  const auto func = program(R"(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"))", R"(
C = T.alloc_buffer((6,))
for i in range(6):
    with T.block("A"):
        vi = T.axis.remap("S", [i])
        A[vi] = T.float32(1)
    with T.block("B"):
        vi = T.axis.remap("S", [i])
        B[vi] = T.float32(2)
    with T.block("C"):
        vi = T.axis.remap("S", [i])
        C[vi] = T.float32(3)
)");
  Schedule sch(func);
  const Schedule before = sch.snapshot();
  reorder_statements(sch, get_block(sch, "B"), get_block(sch, "A"));
  EXPECT_EQ(changed_between(before, sch), (Names{"A", "B"}));
}

TEST(independent_iterations, are_known_of_a_loop_that_steps_leave_independent) {
  Schedule sch(matmul(16, 8, 12));
  const BlockRV c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  EXPECT_FALSE(sch.known_facts().has_independent_iterations(loops[0]));
  parallel(sch, loops[0]);
  EXPECT_TRUE(sch.known_facts().has_independent_iterations(loops[0]));
  const BlockRV copy = cache_read(sch, c, 0, "global");
  EXPECT_TRUE(sch.known_facts().has_independent_iterations(loops[0]));
  compute_at(sch, copy, loops[0]);
  EXPECT_TRUE(sch.known_facts().has_independent_iterations(loops[0]));
  sch.undo(2);
  EXPECT_TRUE(sch.known_facts().has_independent_iterations(get_loops(sch, get_block(sch, "C"))[0]));
}

TEST(independent_iterations, are_not_known_of_a_loop_that_was_taken_on_trust) {
  const auto func = program(R"(P: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32"))", R"(
for i in range(6):
    with T.block("B"):
        vi = T.axis.remap("S", [i])
        B[P[vi]] = T.float32(2)
)");
  Schedule sch(func);
  const LoopRV i = get_loop(sch, "i");
  parallel(sch, i, true);
  EXPECT_FALSE(sch.known_facts().has_independent_iterations(i));
}

TEST(independent_iterations, are_lost_by_a_step_that_lets_two_of_them_conflict) {
  const auto func = program(R"(A: T.Buffer((6,), "int32"), C: T.Buffer((3,), "int32"))", R"(
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    with T.block("B"):
        vi = T.axis.remap("S", [i])
        B[vi] = A[vi]
for i in range(6):
    with T.block("C"):
        vi = T.axis.remap("S", [i])
        C[vi // 2] = B[vi]
)");
  const auto loop_of_b = [](Schedule& sch) { return get_loops(sch, get_block(sch, "B"))[0]; };
  Schedule serial(func);
  reverse_compute_at(serial, get_block(serial, "C"), loop_of_b(serial));
  Schedule sch(func);
  const LoopRV i = loop_of_b(sch);
  parallel(sch, i);
  ASSERT_TRUE(sch.known_facts().has_independent_iterations(i));
  try {
    reverse_compute_at(sch, get_block(sch, "C"), i);
    FAIL() << "iterations store to the same elements";
  } catch (const ScheduleError& error) {
    ASSERT_TRUE(error.refusal().change);
    EXPECT_EQ(error.refusal().change->question, LegalityQuestion::concurrency);
  }
}

}  // namespace
}  // namespace loopsmith
