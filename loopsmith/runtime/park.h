// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace loopsmith::detail {

/// Tells the processor that this is a loop which waits for another thread.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Sleeps while `word` is `expected`. True when `unpark` woke it, false when there was no reason to
/// sleep.
inline bool park(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  static_assert(sizeof(word) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
  return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0) == 0;
}

/// Wakes at most `count` threads that sleep on `word`; returns how many.
inline int unpark(std::atomic<std::uint32_t>& word, int count) {
  const long woken = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

}  // namespace loopsmith::detail
