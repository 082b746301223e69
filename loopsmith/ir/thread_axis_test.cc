// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/thread_axis.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

TEST(thread_axis, is_read_from_its_tag_and_written_as_it) {
  for (const ThreadAxis axis : launch_axes) EXPECT_EQ(thread_axis_of(tag_of(axis)), axis);
  EXPECT_EQ(tag_of(ThreadAxis::block_x), "blockIdx.x");
  EXPECT_EQ(tag_of(ThreadAxis::thread_z), "threadIdx.z");
  EXPECT_EQ(thread_axis_of("vthread"), ThreadAxis::virtual_thread);
  EXPECT_EQ(thread_axis_of("vthread.y"), ThreadAxis::virtual_thread);
  EXPECT_EQ(thread_axis_of("threadIdx.w"), ThreadAxis::other);
  EXPECT_EQ(thread_axis_of(""), ThreadAxis::none);
}

TEST(thread_axis, knows_its_dimension_and_whether_it_is_of_blocks) {
  EXPECT_EQ(dimension_of(ThreadAxis::block_x), 0);
  EXPECT_EQ(dimension_of(ThreadAxis::block_z), 2);
  EXPECT_EQ(dimension_of(ThreadAxis::thread_y), 1);
  EXPECT_TRUE(is_block_axis(ThreadAxis::block_y));
  EXPECT_FALSE(is_block_axis(ThreadAxis::thread_x));
  EXPECT_FALSE(is_launch_axis(ThreadAxis::virtual_thread));
  EXPECT_FALSE(is_launch_axis(ThreadAxis::none));
}

TEST(thread_axis, is_none_of_a_loop_that_is_not_bound) {
  const auto A = decl_buffer({4}, i32, "A");
  const Ptr<Var> i = var("i");
  const Stmt loop = for_loop(i, 0, 4, store(A, Expr(1), {i}));
  EXPECT_EQ(thread_axis_of(loop), ThreadAxis::none);
  For bound = *loop.as<For>();
  bound.kind = ForKind::thread_binding;
  bound.thread_binding =
      make(IterVar{.var = i, .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
  EXPECT_EQ(thread_axis_of(bound), ThreadAxis::thread_x);
}

}  // namespace
}  // namespace loopsmith
