// SPDX-License-Identifier: Apache-2.0
// How much two threads that schedule programs of their own get done, as a multiple of one; beside
// it what the machine allows: arithmetic, memory of the system's allocator, two processes.
//
//   schedule_threads [milliseconds a measurement]      the default is 100
//
// Time is that of the threads' processors, so that other programs count little: what threads do to
// each other's cache lines shows, and waiting for a lock does not.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/te/te.h"

using namespace loopsmith;

namespace {

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double budget = 0.1;

/// Runs `work` for the budget of processor time; gives how often it ran in a second of that.
double rate_of(const std::function<void()>& work) {
  const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
  double spent = 0;
  long rounds = 0;
  for (; spent < budget; spent = seconds(CLOCK_THREAD_CPUTIME_ID) - start) work(), ++rounds;
  return static_cast<double>(rounds) / spent;
}

using Works = std::array<std::function<void()>, 2>;

/// The rates of both threads together.
double threads_rate(const Works& works) {
  std::array<double, 2> rates{};
  std::atomic<int> ready = 0;
  const auto run = [&](std::size_t i) {
    ++ready;
    while (ready < 2) std::this_thread::yield();
    rates[i] = rate_of(works[i]);
  };
  std::thread second(run, 1);
  run(0);
  second.join();
  return rates[0] + rates[1];
}

double processes_rate(const Works& works) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const double rate = rate_of(works[1]);
    const bool is_sent = write(ends[1], &rate, sizeof rate) == sizeof rate;
    _exit(is_sent ? 0 : 1);
  }
  const double own = rate_of(works[0]);
  double other = 0;
  if (read(ends[0], &other, sizeof other) != sizeof other) other = 0;
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return own + other;
}

void row(const std::string& name, const Works& works, double (*together)(const Works&)) {
  std::vector<double> ratios;
  for (int round = 0; round < 7; ++round) ratios.push_back(together(works) / rate_of(works[0]));
  std::ranges::sort(ratios);
  fmt::print("{:<44} {:>6.2f} {:>6.2f} {:>6.2f}\n", name, ratios.front(), ratios[3], ratios.back());
}

Ptr<PrimFunc> matmul() {
  const te::Tensor A = te::placeholder({1024, 1024}, f32, "A");
  const te::Tensor B = te::placeholder({1024, 1024}, f32, "B");
  const te::IterVar k = te::reduce_axis(0, 1024, "k");
  const auto product = [&](Expr i, Expr j) { return te::sum(A(i, k) * B(k, j), k); };
  return te::create_prim_func({A, B, te::compute({1024, 1024}, product, "C")});
}

Trace tiled(const Ptr<PrimFunc>& func) {
  Schedule sch(func, 1);
  const auto [i, j, k] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto [i0, i1, i2, i3] = split(sch, i, {infer, 4, 8, 2}).take<4>();
  const auto [j0, j1, j2, j3] = split(sch, j, {infer, 2, 4, 16}).take<4>();
  const auto [k0, k1] = split(sch, k, {infer, 8}).take<2>();
  reorder(sch, {i0, j0, i1, j1, k0, i2, j2, k1, i3, j3});
  parallel(sch, fuse(sch, {i0, j0}));
  vectorize(sch, j3);
  unroll(sch, i3);
  return sch.trace();
}

void arithmetic() {
  static thread_local std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
}

void allocations() {
  std::array<std::unique_ptr<char[]>, 64> live;
  for (std::size_t i = 0; i < 2000; ++i) {
    live[i % 64] = std::make_unique_for_overwrite<char[]>(32 + i % 7 * 24);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) budget = std::atof(argv[1]) * 1e-3;
  const std::array<Ptr<PrimFunc>, 2> funcs{matmul(), matmul()};
  const std::array<Trace, 2> traces{tiled(funcs[0]), tiled(funcs[1])};
  const auto replay = [](const Trace& trace, const Ptr<PrimFunc>& func) {
    return [&] {
      Schedule sch(func, 1);
      trace.apply_to(sch);
    };
  };
  const Works own{replay(traces[0], funcs[0]), replay(traces[1], funcs[1])};
  fmt::print("{:<44} {:>6} {:>6} {:>6}\n", "two, as a multiple of one", "least", "median", "most");
  row("arithmetic", {arithmetic, arithmetic}, threads_rate);
  row("allocations", {allocations, allocations}, threads_rate);
  row("replays, two processes", own, processes_rate);
  row("replays, each its own function and trace", own, threads_rate);
  row("replays, one trace", {own[0], replay(traces[0], funcs[1])}, threads_rate);
  row("replays, one function and trace", {own[0], own[0]}, threads_rate);
}
