// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/testing/time_limit.h"

#include <gtest/gtest.h>

#include "loopsmith/runtime/thread_pool.h"

namespace loopsmith {
namespace {

TEST(time_limit, a_test_that_hangs_fails_and_says_where_each_thread_stands) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    ThreadPool pool({.num_threads = 2, .spin_microseconds = 0});
    pool.parallel_for(0, 2, [](std::int64_t, std::int64_t) {});  // its worker sleeps soon
    const TimeLimit limit(std::chrono::milliseconds(500));
    std::this_thread::sleep_for(std::chrono::seconds(20));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(1),
              "still running after 0.5 s:(.|\n)*\\(loopsmith-1\\) "
              "(sleeps while the word at (.|\n)*work_until_stopped|does what the system keeps to)");
}

TEST(time_limit, one_that_is_kept_says_nothing) {
  const TimeLimit limit;
}

}  // namespace
}  // namespace loopsmith
