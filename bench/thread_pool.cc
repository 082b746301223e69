// SPDX-License-Identifier: Apache-2.0

// What a parallel loop costs: our thread pool beside OpenMP's and oneTBB's, each as a host would
// set it in an ls_context. Prints a table. LD_PRELOAD=libomp.so.5 measures LLVM's OpenMP runtime in
// place of GCC's.
#include "loopsmith/runtime/thread_pool.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/wait.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <thread>

namespace {

using loopsmith::ThreadPool;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int num_threads = 2;

/// OpenMP's threads behind the entry that a host may replace.
std::int32_t openmp_parallel_for(void*, std::int64_t begin, std::int64_t end, ls_body body,
                                 void* closure) {
  const std::int64_t extent = end - begin;
  std::int32_t status = LS_OK;
#pragma omp parallel num_threads(num_threads)
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t from = begin + extent * thread / threads;
    const std::int64_t to = begin + extent * (thread + 1) / threads;
    if (from < to) {
      const std::int32_t own = body(closure, from, to);
      if (own != LS_OK) {
#pragma omp atomic write
        status = own;
      }
    }
  }
  return status;
}

/// oneTBB's threads behind the entry that a host may replace.
std::int32_t tbb_parallel_for(void*, std::int64_t begin, std::int64_t end, ls_body body,
                              void* closure) {
  std::atomic<std::int32_t> status{LS_OK};
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(begin, end),
      [&](const tbb::blocked_range<std::int64_t>& range) {
        const std::int32_t own = body(closure, range.begin(), range.end());
        if (own != LS_OK) status = own;
      },
      tbb::static_partitioner());
  return status;
}

struct Runtime {
  const char* name;
  ls_parallel_for parallel_for;
  void* data;

  template <class Body>
  void operator()(std::int64_t extent, const Body& body) const {
    const ls_body call = [](void* closure, std::int64_t from, std::int64_t to) -> std::int32_t {
      for (std::int64_t i = from; i < to; ++i) (*static_cast<const Body*>(closure))(i);
      return LS_OK;
    };
    parallel_for(data, 0, extent, call, const_cast<Body*>(&body));
  }
};

void work_for(double seconds) {
  const auto start = Clock::now();
  while (Seconds(Clock::now() - start).count() < seconds) {
  }
}

constexpr auto nothing = [](std::int64_t) {};

struct Cost {
  double median, p99;
};

/// The time of `region` in microseconds, over `repeat` runs, each after `gap` seconds of the
/// caller's own.
Cost measure(int repeat, double gap, const std::function<void()>& region) {
  std::vector<double> samples;
  for (int i = 0; i < repeat + repeat / 10; ++i) {
    if (gap > 0) work_for(gap);
    const auto start = Clock::now();
    region();
    if (i >= repeat / 10) samples.push_back(Seconds(Clock::now() - start).count() * 1e6);
  }
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[samples.size() * 99 / 100]};
}

void print(const char* name, const char* what, Cost cost) {
  fmt::print("{:<10} {:<44} {:>10.2f} {:>10.2f}\n", name, what, cost.median, cost.p99);
}

double process_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void measure_all(const Runtime& run) {
  constexpr int batch = 1000;  // the clock's own time does not count
  const Cost thousand = measure(50, 0, [&] {
    for (int i = 0; i < batch; ++i) run(2, nothing);
  });
  print(run.name, "empty, back to back, mean of 1000",
        {thousand.median / batch, thousand.p99 / batch});
  print(run.name, "empty, back to back, one by one", measure(20000, 0, [&] { run(2, nothing); }));
  print(run.name, "empty, after 100 us", measure(2000, 100e-6, [&] { run(2, nothing); }));
  print(run.name, "empty, after 1 ms", measure(300, 1e-3, [&] { run(2, nothing); }));

  const auto halves = [&](double seconds) {
    return [&run, seconds] { run(2, [seconds](std::int64_t) { work_for(seconds); }); };
  };
  print(run.name, "2 x 5 us, back to back (ideal 5)", measure(5000, 0, halves(5e-6)));
  print(run.name, "2 x 5 us, after 100 us (ideal 5)", measure(2000, 100e-6, halves(5e-6)));
  print(run.name, "2 x 100 us, after 1 ms (ideal 100)", measure(300, 1e-3, halves(100e-6)));
  print(run.name, "5 x 20 us (ideal 50 to 60)",
        measure(1000, 0, [&] { run(5, [](std::int64_t) { work_for(20e-6); }); }));

  Cost other{};
  const auto two_hosts = [&](int repeat, const std::function<void()>& region) {
    std::thread second([&] { other = measure(repeat, 0, region); });
    const Cost first = measure(repeat, 0, region);
    second.join();
    return Cost{(first.median + other.median) / 2, std::max(first.p99, other.p99)};
  };
  print(run.name, "2 hosts, empty each", two_hosts(5000, [&] { run(2, nothing); }));
  print(run.name, "2 hosts, 2 x 50 us each (ideal 100)", two_hosts(1000, halves(50e-6)));

  print(run.name, "nested: 2 x empty inner",
        measure(2000, 0, [&] { run(2, [&](std::int64_t) { run(2, nothing); }); }));
  print(run.name, "nested: 2 inner of 4 x 10 us (ideal 40)", measure(500, 0, [&] {
          run(2, [&](std::int64_t) { run(4, [](std::int64_t) { work_for(10e-6); }); });
        }));
  print(run.name, "nested: 3 inner of 4 x 10 us (ideal 60)", measure(500, 0, [&] {
          run(3, [&](std::int64_t) { run(4, [](std::int64_t) { work_for(10e-6); }); });
        }));

  run(2, nothing);
  const double before = process_cpu_seconds();
  ::usleep(300000);
  const double idle = (process_cpu_seconds() - before) / 0.3 * 100;
  fmt::print("{:<10} {:<44} {:>10.1f}\n", run.name, "idle for 300 ms: % of a processor", idle);
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:<10} {:<44} {:>10} {:>10}\n", "runtime", "region", "median us", "p99 us");
  ThreadPool pool({.num_threads = num_threads});
  const Runtime runtimes[] = {{"ours", ThreadPool::run_for_kernel, &pool},
                              {"OpenMP", openmp_parallel_for, nullptr},
                              {"oneTBB", tbb_parallel_for, nullptr}};
  for (const Runtime& runtime : runtimes) {
    if (argc > 1 && argv[1] != std::string_view(runtime.name)) continue;
    std::fflush(stdout);
    if (const pid_t child = ::fork();
        child == 0) {  // apart, so that none sees another's idle threads
      measure_all(runtime);
      std::fflush(stdout);
      ::_exit(0);
    } else {
      ::waitpid(child, nullptr, 0);
    }
  }
}
