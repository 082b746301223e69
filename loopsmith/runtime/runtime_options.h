// SPDX-License-Identifier: Apache-2.0
// What compiled functions run with: threads, memory, functions of the host.
#pragma once
#include <memory>
#include <vector>

#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/runtime/host_function.h"

namespace loopsmith {

class ThreadPool;

/// How many threads run parallel loops, and where.
struct ThreadConfig {
  /// The caller's thread included. 0: one for each processor in `affinity`, or that the process may
  /// use.
  int num_threads = 0;
  /// Thread i runs on processor affinity[i % size]; the callers' own threads are left alone. Empty:
  /// anywhere.
  std::vector<int> affinity;
  /// How long an idle worker watches for work before it sleeps. Waking one takes about 30 us.
  int spin_microseconds = 260;

  bool operator==(const ThreadConfig&) const = default;
};

/// What runs parallel loops: our pool, or what a host puts in its place.
struct ParallelFor {
  ls_parallel_for function = nullptr;
  void* data = nullptr;
};

/// Where kernels' workspace comes from.
struct Allocator {
  ls_allocate allocate = nullptr;
  ls_release release = nullptr;
  void* data = nullptr;
};

/// How the functions of a module reach threads, memory and functions of the host.
struct RuntimeOptions {
  /// Runs parallel loops. Null: the shared pool.
  std::shared_ptr<ThreadPool> pool = nullptr;
  /// Set by a host that runs them itself (OpenMP, oneTBB, ...).
  ParallelFor parallel_for = {};
  /// Set by a host that gives the workspace itself.
  Allocator allocator = {};
  /// Calls the functions of the host that programs call by their names; see `by_name`. Null: there
  /// are none. Threads of parallel loops may call it at once.
  HostFunction call_host = {};
};

}  // namespace loopsmith
