// SPDX-License-Identifier: Apache-2.0
// Tasks that are digits of one loop, and fill panels of their own.
#include "loopsmith/schedule/legality/private_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/zero_distance.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace private_memory_test {

using namespace schedule_testing;

/// Two rows of 13 tasks, each of two tiles of 4 columns, of 25 that there are.
Ptr<PrimFunc> tasks(std::string_view filled, std::string_view used) {
  return program(R"(B: T.Buffer((3, 100)), C: T.Buffer((10, 100)))",
                 fmt::format(R"(
P = T.alloc_buffer((25, 3, 4))
for f in range(26):
    for a, k, l in T.grid(2, 3, 4):
        with T.block("P"):
            vj = T.axis.spatial(100, f % 13 * 8 + a * 4 + l)
            vk = T.axis.spatial(3, k)
            T.where({})
            P[vj // 4, vk, vj % 4] = B[vk, vj]
    for i, b in T.grid(5, 2):
        for j in range(4):
            with T.block("C_init"):
                vi = T.axis.spatial(10, f // 13 * 5 + i)
                vj = T.axis.spatial(100, f % 13 * 8 + b * 4 + j)
                T.where({})
                C[vi, vj] = T.float32(0)
        for k, j in T.grid(3, 4):
            with T.block("C"):
                vi = T.axis.spatial(10, f // 13 * 5 + i)
                vj = T.axis.spatial(100, f % 13 * 8 + b * 4 + j)
                vk = T.axis.reduce(3, k)
                T.where({})
                C[vi, vj] = C[vi, vj] + P[vj // 4, vk, vj % 4]
)",
                             filled, used, used));
}

bool fills_panels(std::string_view filled, std::string_view used) {
  Schedule schedule(tasks(filled, used));
  const LoopRV loop = get_loops(schedule, get_block(schedule, "P"))[0];
  const Ptr<Buffer> panel = schedule.get(get_block(schedule, "P")).writes[0]->buffer;
  return writes_what_it_reads(schedule, loop, panel);
}

TEST(private_memory, is_filled_where_guards_cut_off_what_lies_beyond_it) {
  constexpr std::string_view of_tiles = "f % 13 * 2 + b < 25";
  EXPECT_TRUE(fills_panels("f % 13 * 8 + a * 4 + l < 100", of_tiles));
  EXPECT_TRUE(fills_panels("f % 13 * 2 + a < 25", of_tiles));
  EXPECT_FALSE(fills_panels("f % 13 * 8 + a * 4 + l < 99", of_tiles));
  EXPECT_FALSE(fills_panels("f % 13 * 2 + a < 24", of_tiles));
  // Of the tile before the last, 24, it would be 12.
  EXPECT_TRUE(fills_panels("f % 13 + a < 13", of_tiles));
  EXPECT_FALSE(fills_panels("f % 13 + a < 12", of_tiles));
}

TEST(private_memory, of_tasks_that_are_digits_is_proved_as_the_exact_check_does) {
  Schedule schedule(tasks("f % 13 * 2 + a < 25", "f % 13 * 2 + b < 25"));
  schedule.verify_quick_answers(true);
  parallel(schedule, get_loops(schedule, get_block(schedule, "P"))[0]);
  Schedule other(tasks("f % 13 * 2 + a < 24", "f % 13 * 2 + b < 25"));
  other.verify_quick_answers(true);
  EXPECT_THROW(parallel(other, get_loops(other, get_block(other, "P"))[0]), ScheduleError);
}

/// Whether accesses of different statements separate the iterations of f.
bool are_apart(std::string_view column) {
  Schedule schedule(program(R"(C: T.Buffer((10, 104)))", fmt::format(R"(
for f in range(26):
    for i, j in T.grid(5, 8):
        C[f // 13 * 5 + i, f % 13 * {0} + j] = T.float32(0)
    for y, x in T.grid(5, 8):
        C[f // 13 * 5 + y, f % 13 * {0} + x] = T.float32(1)
)",
                                                                     column)));
  const LoopRV loop = get_loop(schedule, "f");
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(loop));
  return has_zero_distance(accesses, accesses.all[0], accesses.all[1], *schedule.get(loop).loop_var,
                           1);
}

TEST(private_memory, tells_iterations_apart_by_digits_in_different_dimensions) {
  EXPECT_TRUE(are_apart("8"));
  EXPECT_FALSE(are_apart("7"));
}

}  // namespace private_memory_test
}  // namespace loopsmith
