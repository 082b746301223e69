// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/changed_part.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Three nests; those of T and C share a loop.
Ptr<PrimFunc> nests_of_a_shared_loop() {
  return program(R"(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32"),
                    C: T.Buffer((8, 8), "int32"))",
                 R"(
T0 = T.alloc_buffer((8, 8), "int32")
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
for i in range(8):
    for j in range(8):
        with T.block("T0"):
            vi, vj = T.axis.remap("SS", [i, j])
            T0[vi, vj] = A[vi, vj]
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T0[vi, vj] + B[vi, vj]
)");
}

Stmt root_body(Schedule& schedule) {
  return schedule.get(get_block(schedule, "root")).body;
}

TEST(changed_part, is_what_differs_inside_of_equal_loops_and_sequences) {
  Schedule sch(nests_of_a_shared_loop());
  const Stmt before = root_body(sch);
  cache_write(sch, get_block(sch, "T0"), 0, "global");
  const auto part = changed_part(before, root_body(sch));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->before.as<For>()->loop_var->name, "j");
  ASSERT_TRUE(part->after.is<SeqStmt>());
  EXPECT_EQ(part->after.as<SeqStmt>()->seq.size(), 2U);
  EXPECT_EQ(fmt::format("{}", part->known), "i >= 0 and i < 8");
}

TEST(changed_part, has_the_memory_that_nothing_else_uses) {
  Schedule sch(nests_of_a_shared_loop());
  const Stmt before = root_body(sch);
  cache_write(sch, get_block(sch, "T0"), 0, "global");
  const Stmt after = root_body(sch);
  const auto part = changed_part(before, after);
  ASSERT_TRUE(part);
  const auto& buffers = sch.get(get_block(sch, "root")).alloc_buffers;
  const std::vector<Ptr<Buffer>> all(buffers.begin(), buffers.end());
  const auto alone = used_in_part_alone(all, *part, before, after);
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0]->name, "T0_global");
}

TEST(changed_part, shares_what_an_iteration_leaves_for_the_next) {
  Schedule sch(program(R"(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"))", R"(
T0 = T.alloc_buffer((8,), "int32")
T1 = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("T0"):
        vi = T.axis.spatial(8, i)
        T0[vi] = A[vi]
    with T.block("T1"):
        vi = T.axis.spatial(8, i)
        T1[vi] = T0[vi]
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = T1[vi // 2]
)"));
  const Stmt before = root_body(sch);
  compute_inline(sch, get_block(sch, "T1"));
  const Stmt after = root_body(sch);
  const auto part = changed_part(before, after);
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->is_repeated);
  const auto is_t1 = [](const Stmt& program) {
    std::vector<Ptr<Buffer>> found;
    for (const auto& buffer : free_buffers(program)) {
      if (buffer->name == "T1") found.push_back(buffer);
    }
    return found;
  };
  EXPECT_TRUE(used_in_part_alone(is_t1(before), *part, before, after).empty());
}

TEST(changed_part, is_nothing_smaller_where_a_loop_around_changes) {
  Schedule sch(program(R"(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32"))", R"(
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
)"));
  const Stmt before = root_body(sch);
  split(sch, get_loop(sch, "i"), {infer, 4});
  EXPECT_FALSE(changed_part(before, root_body(sch)));
}

}  // namespace
}  // namespace loopsmith
