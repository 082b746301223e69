// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/add_unit_loop.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(add_unit_loop, keeps_the_handles_of_what_is_inside) {
  const auto func = two_stages();
  Schedule sch(func);
  const BlockRV block = get_block(sch, "C");
  const auto loops = get_loops(sch, block);
  const LoopRV inner = add_unit_loop(sch, block);
  const LoopRV outer = add_unit_loop(sch, loops[0]);
  EXPECT_EQ(get_loops(sch, block), (Handles<LoopRV>{outer, loops[0], loops[1], inner}));
  EXPECT_NE(body_of(sch).find("for u_1, i, j, u in T.grid(1, 96, 64, 1):"), std::string::npos);
  expect_replays(sch, func);
}

TEST(add_unit_loop, refuses_the_root_block) {
  Schedule sch(two_stages());
  const BlockRV root = get_block(sch, "root");
  EXPECT_EQ(
      error_of([&] { add_unit_loop(sch, root); }),
      "block_is_not_root: add_unit_loop: the primitive does not operate on the root block root");
}

}  // namespace
}  // namespace loopsmith
