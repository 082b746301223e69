// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "loopsmith/runtime/cpus.h"
#include "loopsmith/runtime/testing/time_limit.h"

namespace loopsmith {
namespace {

using std::chrono::microseconds;

/// Where threads wait for each other: true when `count` of them have come within ten seconds.
class Rendezvous {
 public:
  explicit Rendezvous(int count) : missing_(count) {}

  bool arrive() {
    --missing_;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (missing_ > 0) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> missing_;
};

struct thread_pool : testing::Test {
  const TimeLimit limit;
};

TEST_F(thread_pool, runs_each_iteration_once) {
  for (const int num_threads : {1, 2, 3, 5}) {
    ThreadPool pool({.num_threads = num_threads});
    EXPECT_EQ(pool.num_threads(), num_threads);
    for (const std::int64_t extent : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 1000}) {
      for (const std::int64_t begin :
           {std::int64_t{-3}, std::int64_t{0}, std::numeric_limits<std::int64_t>::min(),
            std::numeric_limits<std::int64_t>::max() - extent}) {
        std::vector<std::atomic<int>> counts(static_cast<std::size_t>(extent));
        pool.parallel_for(begin, begin + extent, [&](std::int64_t from, std::int64_t to) {
          EXPECT_LT(from, to);
          for (std::int64_t i = from; i != to; ++i) ++counts[static_cast<std::size_t>(i - begin)];
        });
        for (const auto& count : counts) EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST_F(thread_pool, splits_extents_near_2_to_the_64_without_overflow) {
  ThreadPool pool({.num_threads = 3});
  std::mutex mutex;
  std::set<std::pair<std::int64_t, std::int64_t>> chunks;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  pool.parallel_for(least, most, [&](std::int64_t from, std::int64_t to) {
    const std::lock_guard lock(mutex);
    chunks.emplace(from, to);
  });
  std::int64_t at = least;
  for (const auto& [from, to] : chunks) {
    EXPECT_EQ(from, at);
    at = to;
  }
  EXPECT_EQ(at, most);
}

TEST_F(thread_pool, an_empty_or_reversed_range_runs_nothing) {
  ThreadPool pool({.num_threads = 2});
  pool.parallel_for(3, 3, [](std::int64_t, std::int64_t) { FAIL(); });
  pool.parallel_for(3, -3, [](std::int64_t, std::int64_t) { FAIL(); });
}

TEST_F(thread_pool, a_worker_takes_part_awake_and_asleep) {
  for (const int spin : {0, 260}) {
    ThreadPool pool({.num_threads = 2, .spin_microseconds = spin});
    for (int i = 0; i < 20; ++i) {
      if (i % 5 == 4) std::this_thread::sleep_for(microseconds(2000));
      Rendezvous both(2);
      pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) { EXPECT_TRUE(both.arrive()); });
    }
  }
}

TEST_F(thread_pool, a_worker_runs_the_same_part_each_time) {
  ThreadPool pool({.num_threads = 2});
  for (int i = 0; i < 20; ++i) {
    Rendezvous both(2);
    const auto caller = std::this_thread::get_id();
    pool.parallel_for(0, 2, [&](std::int64_t from, std::int64_t) {
      EXPECT_TRUE(both.arrive());
      EXPECT_EQ(std::this_thread::get_id() == caller, from == 0);
    });
  }
}

TEST_F(thread_pool, two_hosts_share_the_workers) {
  ThreadPool pool({.num_threads = 3});
  Rendezvous all(3);
  std::atomic<int> hosts_at_work{0};
  const auto host = [&] {
    const auto self = std::this_thread::get_id();
    ++hosts_at_work;
    bool has_started = false;
    pool.parallel_for(0, 40, [&](std::int64_t, std::int64_t) {
      if (std::this_thread::get_id() == self && !std::exchange(has_started, true)) {
        EXPECT_TRUE(all.arrive());  // both hosts and a worker are inside at once
      } else if (std::this_thread::get_id() != self) {
        thread_local bool helped = false;
        if (!std::exchange(helped, true)) {
          EXPECT_TRUE(all.arrive());
        }
      }
    });
  };
  std::thread other(host);
  host();
  other.join();
}

TEST_F(thread_pool, a_worker_leaves_when_a_second_host_needs_its_processor) {
  ThreadPool pool({.num_threads = 2});
  Rendezvous worker_is_here(2);
  Rendezvous second_host_is_here(2);
  std::atomic<bool> crowded{false};
  std::atomic<int> chunks_of_worker{0};
  std::atomic<bool> first_is_done{false};
  std::thread second([&] {
    EXPECT_TRUE(second_host_is_here.arrive());
    pool.parallel_for(0, 2, [&](std::int64_t from, std::int64_t) {
      if (from != 0) return;
      crowded = true;
      while (!first_is_done) std::this_thread::yield();
    });
  });
  const auto self = std::this_thread::get_id();
  bool called = false;
  pool.parallel_for(0, 1000, [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() == self) {
      if (std::exchange(called, true)) return;
      EXPECT_TRUE(worker_is_here.arrive());
      EXPECT_TRUE(second_host_is_here.arrive());
      while (!crowded) std::this_thread::yield();
    } else if (crowded) {
      ++chunks_of_worker;
    } else {
      static bool has_started = false;
      if (!std::exchange(has_started, true)) {
        EXPECT_TRUE(worker_is_here.arrive());
      }
      while (!crowded) std::this_thread::yield();
    }
  });
  first_is_done = true;
  second.join();
  EXPECT_EQ(chunks_of_worker, 0);
}

TEST_F(thread_pool, a_worker_comes_when_a_second_host_has_left) {
  ThreadPool pool({.num_threads = 2, .spin_microseconds = 0});
  Rendezvous second_is_inside(2);
  Rendezvous second_may_leave(2);
  std::thread second([&] {
    const auto self = std::this_thread::get_id();
    bool called = false;
    pool.parallel_for(0, 1000, [&](std::int64_t, std::int64_t) {
      if (std::this_thread::get_id() != self || std::exchange(called, true)) return;
      EXPECT_TRUE(second_is_inside.arrive());
      EXPECT_TRUE(second_may_leave.arrive());
    });
  });
  EXPECT_TRUE(second_is_inside.arrive());
  std::this_thread::sleep_for(microseconds(5000));  // the worker falls asleep meanwhile
  const auto self = std::this_thread::get_id();
  Rendezvous worker_is_here(2);
  std::atomic<bool> worker_came{false};
  int chunk = 0;
  pool.parallel_for(0, 1000, [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() != self) {
      if (!worker_came.exchange(true)) {
        EXPECT_TRUE(worker_is_here.arrive());
      }
    } else if (++chunk == 1) {
      EXPECT_TRUE(second_may_leave.arrive());
      second.join();
    } else if (chunk == 3) {
      EXPECT_TRUE(worker_is_here.arrive());
    }
  });
}

TEST_F(thread_pool, an_idle_worker_helps_with_an_inner_loop) {
  ThreadPool pool({.num_threads = 2});
  pool.parallel_for(0, 1, [&](std::int64_t, std::int64_t) {
    Rendezvous both(2);
    pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) { EXPECT_TRUE(both.arrive()); });
  });
}

TEST_F(thread_pool, a_caller_that_waits_helps_with_the_inner_loops_of_its_helpers) {
  for (const int spin : {0, 260, 1'000'000}) {
    ThreadPool pool({.num_threads = 2, .spin_microseconds = spin});
    const auto self = std::this_thread::get_id();
    Rendezvous both(2);
    std::atomic<bool> caller_helped{false};
    pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) {
      EXPECT_TRUE(both.arrive());
      if (std::this_thread::get_id() == self) return;  // and has nothing left to do
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!caller_helped && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(microseconds(1000));  // the caller falls asleep meanwhile
        pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) {
          if (std::this_thread::get_id() == self) caller_helped = true;
          std::this_thread::sleep_for(microseconds(300));
        });
      }
    });
    EXPECT_TRUE(caller_helped);
  }
}

TEST_F(thread_pool, loops_three_deep_from_many_hosts_run_each_iteration_once) {
  ThreadPool pool({.num_threads = 3, .spin_microseconds = 20});
  std::vector<std::thread> hosts;
  for (unsigned host = 0; host < 4; ++host) {
    hosts.emplace_back([&, host] {
      std::mt19937 random(host);
      for (int i = 0; i < 60; ++i) {
        const std::int64_t a = random() % 6, b = random() % 6, c = random() % 30;
        std::atomic<std::int64_t> sum{0};
        pool.parallel_for(0, a, [&](std::int64_t a0, std::int64_t a1) {
          for (std::int64_t x = a0; x < a1; ++x) {
            pool.parallel_for(0, b, [&](std::int64_t b0, std::int64_t b1) {
              for (std::int64_t y = b0; y < b1; ++y) {
                pool.parallel_for(0, c, [&](std::int64_t c0, std::int64_t c1) { sum += c1 - c0; });
              }
            });
          }
        });
        EXPECT_EQ(sum, a * b * c);
        if (i % 16 == 0) std::this_thread::sleep_for(microseconds(300));
      }
    });
  }
  for (std::thread& host : hosts) host.join();
}

TEST_F(thread_pool, pools_nest_in_each_other) {
  ThreadPool outer({.num_threads = 2});
  ThreadPool inner({.num_threads = 3});
  std::atomic<int> count{0};
  outer.parallel_for(0, 10, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      inner.parallel_for(0, 10, [&](std::int64_t a, std::int64_t b) {
        for (std::int64_t j = a; j < b; ++j) {
          outer.parallel_for(
              0, 3, [&](std::int64_t c, std::int64_t d) { count += static_cast<int>(d - c); });
        }
      });
    }
  });
  EXPECT_EQ(count, 300);
}

TEST_F(thread_pool, a_status_ends_the_loop_and_is_returned) {
  ThreadPool pool({.num_threads = 2});
  std::atomic<int> chunks{0};
  const auto body = [](void* closure, std::int64_t, std::int64_t) -> std::int32_t {
    ++*static_cast<std::atomic<int>*>(closure);
    return LS_ASSERTION;
  };
  EXPECT_EQ(pool.run(0, 1000000, body, &chunks), LS_ASSERTION);
  EXPECT_LE(chunks, 2);
  pool.parallel_for(0, 1, [&](std::int64_t, std::int64_t) {  // an inner loop alike
    EXPECT_EQ(pool.run(0, 1000000, body, &chunks), LS_ASSERTION);
  });
}

TEST_F(thread_pool, an_exception_arrives_at_the_caller) {
  ThreadPool pool({.num_threads = 2});
  const auto self = std::this_thread::get_id();
  for (const bool in_worker : {false, true}) {
    Rendezvous both(2);
    try {
      pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) {
        EXPECT_TRUE(both.arrive());
        if ((std::this_thread::get_id() != self) == in_worker)
          throw std::runtime_error("from a body");
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "from a body");
    }
  }
  std::atomic<int> count{0};  // and the pool goes on
  pool.parallel_for(0, 10, [&](std::int64_t from, std::int64_t to) { count += int(to - from); });
  EXPECT_EQ(count, 10);
}

TEST_F(thread_pool, an_exception_under_a_kernel_becomes_a_status) {
  ThreadPool pool({.num_threads = 2});
  const ls_body body = [](void*, std::int64_t, std::int64_t) -> std::int32_t {
    throw std::runtime_error("from a body");
  };
  EXPECT_EQ(ThreadPool::run_for_kernel(&pool, 0, 8, body, nullptr), LS_EXCEPTION);
}

TEST_F(thread_pool, ends_at_any_moment_of_workers_that_fall_asleep) {
  std::mt19937 random(1);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto deadline = now() + std::chrono::seconds(5);
  for (int i = 0; i < 20000 && now() < deadline; ++i) {
    ThreadPool pool({.num_threads = 4, .spin_microseconds = 0});
    pool.parallel_for(0, 2, [](std::int64_t, std::int64_t) {});
    // Workers take 30 us and more to start, and fall asleep within 5.
    const auto end = now() + std::chrono::nanoseconds(random() % 100000);
    while (now() < end) {
    }
  }
}

TEST_F(thread_pool, workers_run_where_affinity_says) {
  const int cpu = allowed_cpus().back();
  ThreadPool pool({.num_threads = 3, .affinity = {cpu}});
  const auto self = std::this_thread::get_id();
  Rendezvous all(3);
  pool.parallel_for(0, 3, [&](std::int64_t, std::int64_t) {
    EXPECT_TRUE(all.arrive());
    if (std::this_thread::get_id() != self) {
      EXPECT_EQ(allowed_cpus(), std::vector{cpu});
    }
  });
  EXPECT_EQ(ThreadPool({.affinity = {0, 0, 0}}).num_threads(), 3);
}

TEST_F(thread_pool, the_shared_pool_has_a_thread_for_each_processor) {
  EXPECT_EQ(ThreadPool::shared()->num_threads(), default_num_threads());
  EXPECT_EQ(ThreadPool::shared(), ThreadPool::shared());
}

#ifndef __SANITIZE_THREAD__   // it supports no threads after a fork
#ifndef __SANITIZE_ADDRESS__  // what is left behind is a leak to it
TEST_F(thread_pool, workers_that_are_left_behind_do_not_hold_up_the_end) {
  if (ThreadPool::shared()->num_threads() == 1) GTEST_SKIP() << "there are no workers";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(15);  // a child that hangs is killed, before its parent is out of time
    static std::atomic<int> stopped = 0;
    std::thread([] {
      ThreadPool::shared()->parallel_for(0, 64, [](std::int64_t, std::int64_t) {
        ++stopped;
        for (;;) ::pause();
      });
    }).detach();
    while (stopped < 2) std::this_thread::yield();
    ThreadPool::leave_workers_behind();
    std::exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
#endif

TEST_F(thread_pool, a_forked_child_starts_its_own_workers) {
  ThreadPool pool({.num_threads = 2});
  const auto works = [&] {
    Rendezvous both(2);
    std::atomic<int> arrived{0};
    pool.parallel_for(0, 2, [&](std::int64_t, std::int64_t) { arrived += both.arrive(); });
    return arrived == 2;
  };
  ASSERT_TRUE(works());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(15);  // a child that hangs is killed, before its parent is out of time
    const bool good = works() && works();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(works() ? 0 : 1);
    int status = 1;
    ::waitpid(grandchild, &status, 0);
    ::_exit(good && status == 0 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(works());
}
#endif

}  // namespace
}  // namespace loopsmith
