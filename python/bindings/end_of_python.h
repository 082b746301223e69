// SPDX-License-Identifier: Apache-2.0
// Python before 3.14 ends a daemon thread that asks for its lock while the process ends, by an
// exception of the C library that runs destructors without the lock.
#pragma once
#include <cxxabi.h>

namespace loopsmith::python {

/// Lets this thread do nothing until the process has ended, as Python does from 3.14 on.
[[noreturn]] void stop_this_thread();

/// Calls what may wait for Python's lock; the thread stops there where Python has ended.
template <class Call>
auto stopped_at_exit(const Call& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    stop_this_thread();
  }
}

}  // namespace loopsmith::python
