// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/wake_placement.h"

#include <unistd.h>

#include "loopsmith/runtime/park.h"

namespace loopsmith::detail {

bool WakePlacement::leave_out(pid_t thread, int cpu) {
  left_ = allowed_;
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(cpu, &left_);
  if (CPU_COUNT(&left_) == 0) left_ = allowed_;
  return sched_setaffinity(thread, sizeof left_, &left_) == 0;
}

bool WakePlacement::is_left_out(pid_t thread) const {
  cpu_set_t now;
  if (sched_getaffinity(thread, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &left_)) return false;
  // Where the process is confined to just these processors, so is its main thread.
  const bool knows_main = sched_getaffinity(getpid(), sizeof now, &now) == 0;
  return !knows_main || !CPU_EQUAL(&now, &left_) || CPU_EQUAL(&of_main_, &left_);
}

void WakePlacement::begin_sleep(int cpu) {
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;  // more than 1024 processors
  sched_getaffinity(getpid(), sizeof of_main_, &of_main_);
  if (leave_out(0, cpu)) sleeper_.store(gettid(), std::memory_order_release);
}

void WakePlacement::end_sleep() {
  if (sleeper_.load(std::memory_order_relaxed) == awake) return;
  const pid_t self = gettid();
  for (pid_t expected = self;
       !sleeper_.compare_exchange_weak(expected, awake, std::memory_order_acquire);
       expected = self) {
    pause_cpu();
  }
  if (is_left_out(0)) sched_setaffinity(0, sizeof allowed_, &allowed_);
}

bool WakePlacement::move_from(int cpu) {
  pid_t sleeper = sleeper_.load(std::memory_order_relaxed);
  if (sleeper == awake || sleeper == is_moved) return false;
  if (!sleeper_.compare_exchange_strong(sleeper, is_moved, std::memory_order_acquire)) return false;
  if (is_left_out(sleeper)) leave_out(sleeper, cpu);
  sleeper_.store(sleeper, std::memory_order_release);
  return true;
}

}  // namespace loopsmith::detail
