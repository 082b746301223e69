// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>
#include <sys/types.h>

#include <atomic>

namespace loopsmith::detail {

/// Keeps a thread that sleeps off the processor of the thread that will wake it.
///
/// The kernel puts a thread that wakes on an idle processor, where it knows one. As the guest of a
/// hypervisor it does not: a virtual processor without work is taken away, which looks as if it was
/// preempted (Linux, `available_idle_cpu` and `vcpu_is_preempted`). Then the thread often waits for
/// the processor of the one that woke it, for milliseconds, while another does nothing. So its
/// affinity leaves that processor out for as long as it sleeps.
class WakePlacement {
 public:
  /// The calling thread is going to sleep, and may wake anywhere but on processor `cpu`. Does
  /// nothing where it may not run elsewhere.
  void begin_sleep(int cpu);
  /// The calling thread has woken, and may run where it could before, unless somebody has changed
  /// that meanwhile: to another set of processors, or together with that of the main thread.
  void end_sleep();
  /// Keeps the thread off `cpu` instead, if it sleeps. Returns whether it does. For any thread.
  bool move_from(int cpu);

 private:
  bool leave_out(pid_t thread, int cpu);
  /// Nothing else has set the affinity of the thread that sleeps.
  bool is_left_out(pid_t thread) const;

  static constexpr pid_t awake = 0;
  static constexpr pid_t is_moved = -1;
  /// The thread while it sleeps; `is_moved` while another one has the fields below.
  std::atomic<pid_t> sleeper_{awake};
  cpu_set_t allowed_{};
  cpu_set_t left_{};     ///< `allowed_` without one.
  cpu_set_t of_main_{};  ///< Where the main thread might run when the sleep began.
};

}  // namespace loopsmith::detail
