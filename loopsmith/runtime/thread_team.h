// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith::detail {

/// The workers of a thread pool in one process, and the parallel loops that they help with.
///
/// The caller of `run` always works itself and could do all of it alone; workers only help, so that
/// a worker that is late, asleep, busy or absent costs speed and never correctness. A loop becomes
/// one *part* for each thread, a part a few *chunks*. A thread runs the chunks of its own part
/// first, the same part each time so that its data stays in its cache, then takes chunks of parts
/// whose threads are behind.
///
/// Callers from outside (*hosts*) count as threads: with h of them inside, workers num_threads - h
/// and above pause at the end of their chunk. A loop inside a loop's body is offered to others only
/// while somebody is idle.
class Team {
 public:
  Team(int num_threads, std::vector<int> affinity, std::chrono::nanoseconds spin,
       std::uint64_t process);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Starts the workers; with fewer than asked for where the system refuses more.
  void start();
  /// Ends the workers. Loops still run, on their callers' threads alone.
  void stop();
  /// Runs `body` over begin..end-1; see ls_parallel_for. Rethrows what a body threw.
  std::int32_t run(std::int64_t begin, std::int64_t end, ls_body body, void* closure);

  /// In which process the workers live; see ThreadPool.
  const std::uint64_t process;

 private:
  static constexpr int none_refused = INT_MAX;

  struct Slot;
  struct alignas(64) Worker;
  struct Loop {
    std::int64_t begin, end;
    ls_body body;
    void* closure;
  };

  int root_of(const Slot& slot) const;
  int num_hosts() const;
  bool may_work(int worker) const { return worker + num_hosts() <= num_threads_; }
  bool is_worth_sharing(bool nested) const;
  Slot* acquire(bool nested);
  std::int32_t share(Slot& slot, const Loop& loop);
  void work(Slot& slot, int worker);
  void run_chunk(Slot& slot, int part, int chunk);
  bool help_any(int worker);
  bool help(int first_slot, int num_slots, int worker, int root);
  void leave(Slot& slot);
  void wait_for_helpers(Slot& slot);
  void note_refused(int worker);
  void note_host_cpu();
  void wake_workers(int count);
  void work_until_stopped(int worker);

  const int num_threads_;
  const std::vector<int> affinity_;
  const std::chrono::nanoseconds spin_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Worker[]> workers_;  ///< By their number, which starts at 1.
  std::vector<std::thread> threads_;

  // Read often, written seldom.
  alignas(64) std::atomic<bool> stopped_{false};
  std::atomic<int> num_host_slots_{0};    ///< How many were ever in use at once.
  std::atomic<int> num_nested_slots_{0};  ///< The same, for loops inside loops.
  std::atomic<int> host_cpu_{-1};  ///< The processor of the last host; workers wake elsewhere.
  /// The lowest worker that sleeps, or was not woken, because hosts needed all processors.
  std::atomic<int> refused_{none_refused};
  std::atomic<std::int32_t> sleepers_{0};  ///< How many workers sleep and were not woken yet.
  std::atomic<std::uint32_t> wakes_{0};  ///< What they sleep on; counts the times they were woken.
};

}  // namespace loopsmith::detail
