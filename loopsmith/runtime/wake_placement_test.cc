// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/wake_placement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <latch>
#include <thread>
#include <vector>

#include "loopsmith/runtime/cpus.h"

namespace loopsmith {
namespace {

using detail::WakePlacement;

std::vector<int> without(std::vector<int> cpus, int cpu) {
  std::erase(cpus, cpu);
  return cpus;
}

void allow_alone(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(thread, sizeof set, &set);
}

class SleepingThread : public testing::Test {
 protected:
  void SetUp() override {
    if (cpus.size() < 2) GTEST_SKIP() << "needs two processors";
  }

  const std::vector<int> cpus = allowed_cpus();
  WakePlacement placement;
};

TEST_F(SleepingThread, wakes_elsewhere_and_may_go_anywhere_then) {
  std::thread([&] {
    placement.begin_sleep(cpus[0]);
    EXPECT_EQ(allowed_cpus(), without(cpus, cpus[0]));
    placement.end_sleep();
    EXPECT_EQ(allowed_cpus(), cpus);
  }).join();
}

TEST_F(SleepingThread, keeps_off_the_processor_to_which_its_waker_has_moved) {
  EXPECT_FALSE(placement.move_from(cpus[1])) << "no thread sleeps";
  std::latch asleep(1), moved(1);
  std::thread sleeper([&] {
    placement.begin_sleep(cpus[0]);
    asleep.count_down();
    moved.wait();
    EXPECT_EQ(allowed_cpus(), without(cpus, cpus[1]));
    placement.end_sleep();
    EXPECT_EQ(allowed_cpus(), cpus);
  });
  asleep.wait();
  EXPECT_TRUE(placement.move_from(cpus[1]));
  moved.count_down();
  sleeper.join();
  EXPECT_FALSE(placement.move_from(cpus[0])) << "it has woken";
}

TEST_F(SleepingThread, stays_where_somebody_else_has_put_it) {
  std::thread([&] {
    placement.begin_sleep(cpus[0]);
    allow_alone(0, cpus[0]);
    EXPECT_TRUE(placement.move_from(cpus[0]));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus[0]});
    placement.end_sleep();
    EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus[0]});
  }).join();
}

TEST_F(SleepingThread, stays_where_the_whole_process_was_put) {
  cpu_set_t before, confined;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof before, &before), 0);
  confined = before;
  CPU_CLR(cpus[0], &confined);
  std::thread([&] {
    placement.begin_sleep(cpus[0]);
    for (const pid_t each : {getpid(), gettid()})
      sched_setaffinity(each, sizeof confined, &confined);
    placement.end_sleep();
    EXPECT_EQ(allowed_cpus(), without(cpus, cpus[0]));
  }).join();
  sched_setaffinity(getpid(), sizeof before, &before);
}

TEST_F(SleepingThread, stays_on_its_only_processor) {
  std::thread([&] {
    allow_alone(0, cpus[0]);
    placement.begin_sleep(cpus[0]);
    EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus[0]});
    placement.end_sleep();
    EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus[0]});
  }).join();
}

}  // namespace
}  // namespace loopsmith
