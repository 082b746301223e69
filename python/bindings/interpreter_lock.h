// SPDX-License-Identifier: Apache-2.0
// The interpreter lock, given away while C++ runs and taken back. A daemon thread may still be at
// work when the process ends: where it asks for the lock then, it stops for good.
#pragma once
#include <nanobind/nanobind.h>

namespace loopsmith::python {

/// While it lives, other threads may run Python.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// While it lives, this thread, which runs C++ without the lock, may call Python.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Lets the end of the interpreter wait for threads that run C++ without the lock: what they use is
/// destroyed after it.
void wait_for_threads_at_exit();

}  // namespace loopsmith::python
