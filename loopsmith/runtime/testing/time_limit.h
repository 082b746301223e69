// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace loopsmith {

/// What each thread of this process does now: its name, the system call that it waits in, and which
/// functions its stack names, some of which may have returned already. Only a guess, for people.
std::string what_threads_do();

/// Where one lives longer than its limit, it says what each thread does and ends the process, so
/// that a test that hangs fails.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::milliseconds limit = std::chrono::seconds(20));
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  void watch(std::chrono::milliseconds limit);

  std::mutex mutex_;
  std::condition_variable kept_changed_;
  bool kept_ = false;
  std::thread watcher_;
};

}  // namespace loopsmith
