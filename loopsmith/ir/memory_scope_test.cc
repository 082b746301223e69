// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/memory_scope.h"

#include <gtest/gtest.h>

namespace loopsmith {
namespace {

TEST(memory_scope, is_read_from_its_name_and_written_as_it) {
  for (const auto* name : {"global", "shared", "shared.dyn", "warp", "local", "wmma.matrix_a",
                           "wmma.matrix_b", "wmma.accumulator"}) {
    EXPECT_EQ(name_of(memory_scope(name)), name);
  }
  EXPECT_EQ(memory_scope(""), MemoryScope::global);
}

TEST(memory_scope, of_a_users_own_name_is_of_the_family_that_it_begins_with) {
  EXPECT_TRUE(is_global(memory_scope("global.vtcm")));
  EXPECT_TRUE(is_shared_by_threads(memory_scope("shared.window")));
  EXPECT_TRUE(is_fragment(memory_scope("wmma.other")));
  const MemoryScope window = memory_scope("local.window");
  EXPECT_TRUE(is_of_each_thread(window));
  EXPECT_FALSE(is_of_one_thread(ThreadAxis::thread_x, window));
  EXPECT_EQ(memory_scope("m16n8k8.matrix"), MemoryScope::named);
  EXPECT_EQ(memory_scope("amx.tmm"), MemoryScope::named);
}

TEST(memory_scope, says_of_which_threads_each_has_memory_for_itself) {
  EXPECT_TRUE(is_of_one_thread(ThreadAxis::thread_x, MemoryScope::local));
  EXPECT_FALSE(is_of_one_thread(ThreadAxis::thread_x, MemoryScope::accumulator));
  EXPECT_TRUE(is_of_one_thread(ThreadAxis::thread_y, MemoryScope::accumulator));
  EXPECT_FALSE(is_of_one_thread(ThreadAxis::thread_x, MemoryScope::shared));
  EXPECT_TRUE(is_of_one_thread(ThreadAxis::block_x, MemoryScope::shared));
  EXPECT_FALSE(is_of_one_thread(ThreadAxis::block_x, MemoryScope::global));
}

}  // namespace
}  // namespace loopsmith
