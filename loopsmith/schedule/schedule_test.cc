// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/schedule.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(schedule, leaves_the_function_that_it_was_made_of_alone) {
  const auto func = matmul();
  const auto before = structural_hash(func);
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  split(sch, loops[0], {infer, 8});
  EXPECT_EQ(structural_hash(func), before);
  const auto snapshot = sch.func();
  const auto then = structural_hash(snapshot);
  split(sch, loops[1], {infer, 8});
  EXPECT_EQ(structural_hash(snapshot), then);
  EXPECT_NE(structural_hash(sch.func()), then);
}

TEST(schedule, copies_know_older_handles_and_not_each_other) {
  Schedule sch(matmul());
  const auto loops = get_loops(sch, get_block(sch, "C"));
  Schedule a = sch.copy();
  Schedule b = sch.copy();
  const auto in_a = split(a, loops[0], {infer, 8});
  split(b, loops[0], {infer, 4});
  EXPECT_EQ(error_of([&] { split(b, in_a[0], {infer, 2}); }),
            "handle_is_alive: split: the loop or block is of another schedule");
  EXPECT_EQ(error_of([&] { split(sch, loops[0], {infer, 2}); }), "");
}

TEST(schedule, takes_the_handles_of_the_schedule_that_it_is_a_copy_of) {
  Schedule sch(matmul(9, 8, 6));
  const BlockRV block = get_block(sch, "C");
  const auto loops = get_loops(sch, block);
  Schedule copy = sch.copy();
  // Primitives that look for a handle among others, as those of the copy are.
  decompose_reduction(copy, block, loops[2]);
  reorder(copy, {loops[1], loops[0]});
  fuse(copy, {loops[1], loops[0]});
  interp::assert_same(sch.func(), copy.func());
  EXPECT_EQ(sch.steps().size() + 3, copy.steps().size());
}

TEST(schedule, offers_fixes_that_passed_on_a_copy) {
  Schedule sch(matmul());
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto before = structural_hash(sch.func());
  try {
    split(sch, i, {2, 4});
    FAIL();
  } catch (const ScheduleError& error) {
    fuse(sch, {i, j});  // The error is of the schedule as it was.
    EXPECT_EQ(error.fixes(), (std::vector<std::string>{
                                 R"(sch.split(sch.get_loop("i"), [None, 4]))",
                                 R"(sch.split(sch.get_loop("i"), [2, None]))",
                             }));
    EXPECT_NE(std::string(error.what()).find("\n  fix: sch.split("), std::string::npos);
    EXPECT_NE(error.picture().find("^^^"), std::string::npos);
    EXPECT_EQ(ScheduleError(error).primitive(), "split");
  }
  sch.undo();
  EXPECT_EQ(structural_hash(sch.func()), before);
}

TEST(schedule, tells_as_much_of_a_refusal_as_is_wanted) {
  Schedule sch(matmul());
  const LoopRV i = get_loops(sch, get_block(sch, "C"))[0];
  for (const auto& [detail, text] :
       {std::pair(ErrorDetail::brief, "split: factor 0 of loop i is 0, not positive"),
        std::pair(ErrorDetail::none, "(not rendered)")}) {
    try {
      split(sch, i, {0});
      FAIL();
    } catch (ScheduleError& error) {
      error.set_detail(detail);
      EXPECT_STREQ(error.what(), text);
    }
  }
}

TEST(schedule, undoes_steps) {
  const auto func = matmul();
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto parts = split(sch, loops[0], {infer, 8});
  sch.undo();
  EXPECT_TRUE(structural_equal(sch.func(), func));
  EXPECT_EQ(error_of([&] { unroll(sch, parts[0]); }),
            "handle_is_alive: unroll: the step that made the loop or block was undone");
  split(sch, loops[0], {infer, 4});
  EXPECT_EQ(error_of([&] { sch.undo(9); }),
            "steps_were_done: undo: 9 steps are to be undone, 3 were done");
}

TEST(schedule, prints_its_trace_as_python) {
  const auto func = matmul();
  Schedule sch(func);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto [io, ii] = split(sch, i, {infer, 8}).take<2>();
  reorder(sch, {io, j, ii, k});
  parallel(sch, io);
  annotate(sch, k, "pragma_unroll_explicit", 1);
  EXPECT_EQ(sch.trace().text(), R"(from loopsmith import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="C")
  l1, l2, l3 = sch.get_loops(block=b0)
  l4, l5 = sch.split(loop=l1, factors=[None, 8], preserve_unit_iters=True, disable_predication=False)
  sch.reorder(loops=[l4, l2, l5, l3], assume_independent=False)
  sch.parallel(loop=l4, assume_independent=False)
  sch.annotate(block_or_loop=l3, ann_key="pragma_unroll_explicit", ann_val=1)
)");
  expect_replays(sch, func);
}

}  // namespace
}  // namespace loopsmith
