// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/in_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

namespace loopsmith::tune {
namespace {

TEST(InTime, leaves_behind_what_takes_too_long) {
  const auto end = std::make_shared<std::latch>(1);
  const auto done = std::make_shared<std::vector<int>>(5);
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < done->size(); ++i) {
    tasks.emplace_back([=] {
      if (i < 3) end->wait();  // More of them than threads.
      (*done)[i] = 1;
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ended_in_time(tasks, 2, 0.05), (std::vector{false, false, false, true, true}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ((*done)[3] + (*done)[4], 2);
  end->count_down();
}

TEST(InTime, does_all_in_so_many_threads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const std::vector<std::function<void()>> tasks(20, [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ended_in_time(tasks, 3, 60), std::vector<bool>(20, true));
  EXPECT_LE(threads.size(), 3U);
  EXPECT_TRUE(ended_in_time({}, 3, 60).empty());
}

TEST(InTime, throws_what_a_task_threw) {
  const std::vector<std::function<void()>> tasks(3, [] { throw std::runtime_error("no luck"); });
  EXPECT_THROW(ended_in_time(tasks, 2, 60), std::runtime_error);
}

}  // namespace
}  // namespace loopsmith::tune
