// SPDX-License-Identifier: Apache-2.0
#include "bindings/interpreter_lock.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/end_of_python.h"

namespace loopsmith::python {
namespace {

/// How many threads run C++ without the lock.
std::atomic<int> running = 0;
/// True once Python has ended: nobody may ask for its lock.
std::atomic<bool> has_ended = false;
/// True when a thread has stopped inside C++, which others may wait for: no use to wait for them.
std::atomic<bool> is_stuck = false;
/// How often this thread is among `running`: more than once where Python, called back, called
/// again.
thread_local int depth = 0;

/// Asks for the lock; stops the thread where Python has ended.
template <class Take>
auto take_lock(const Take& take) {
  if (has_ended) stop_this_thread();
  return stopped_at_exit(take);
}

/// A program that runs for longer is left behind.
constexpr std::chrono::seconds longest_wait{10};

void wait_for_threads() {
  has_ended = true;
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  while (running > 0 && !is_stuck && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void stop_this_thread() {
  if (depth > 0) is_stuck = true;
  for (;;) pause();
}

Unlocked::Unlocked() {
  ++running;
  ++depth;
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  --depth;
  --running;
  take_lock([&] { PyEval_RestoreThread(state_); });
}

Locked::Locked() {
  // Within a call of C++, which does not end then.
  ++depth;
  state_ = take_lock([] { return PyGILState_Ensure(); });
  --depth;
}

Locked::~Locked() {
  PyGILState_Release(state_);
}

void wait_for_threads_at_exit() {
  // Without a free place among its functions, Python ends as it would without this one.
  Py_AtExit(wait_for_threads);
  // A child has none of the threads of its parent, but the one that forked.
  pthread_atfork(nullptr, nullptr, [] { running = depth; });
}

}  // namespace loopsmith::python
