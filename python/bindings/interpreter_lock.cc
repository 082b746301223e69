// SPDX-License-Identifier: Apache-2.0
#include "bindings/interpreter_lock.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/end_of_python.h"
#include "loopsmith/runtime/thread_pool.h"

namespace loopsmith::python {
namespace {

/// How many of something there are, in all threads and in this one.
struct Count {
  std::atomic<int>& all;
  int& own;

  void add(int number) const {
    all += number;
    own += number;
  }
  /// A child has none of the threads of its parent, but the one that forked.
  void forget_others() const { all = own; }
};

std::atomic<int> all_unlocked = 0, all_locked = 0;
thread_local int own_unlocked = 0, own_locked = 0;

/// Runs of C++ without the lock.
Count unlocked() {
  return {all_unlocked, own_unlocked};
}
/// Calls of Python within such a run.
Count locked() {
  return {all_locked, own_locked};
}

/// True once Python has ended: its lock may not be asked for any more.
std::atomic<bool> has_ended = false;

/// A program that runs for longer is left behind.
constexpr std::chrono::seconds longest_wait{10};

void wait_for_threads() {
  has_ended = true;
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  // A call of Python does not return any more, nor does the run that it is within.
  while (all_unlocked > 0 && all_locked == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (all_unlocked > 0) ThreadPool::leave_workers_behind();
}

}  // namespace

Unlocked::Unlocked() {
  unlocked().add(1);
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  unlocked().add(-1);
  if (has_ended) stop_this_thread();
  PyEval_RestoreThread(state_);
}

Locked::Locked() {
  locked().add(1);
  if (has_ended) stop_this_thread();
  state_ = PyGILState_Ensure();
}

Locked::~Locked() {
  PyGILState_Release(state_);
  locked().add(-1);
}

void wait_for_threads_at_exit() {
  // Without a free place among its functions, Python ends as it would without this one.
  Py_AtExit(wait_for_threads);
  pthread_atfork(nullptr, nullptr, [] {
    unlocked().forget_others();
    locked().forget_others();
  });
}

}  // namespace loopsmith::python
