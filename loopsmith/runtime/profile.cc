// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/profile.h"

#include <chrono>

namespace loopsmith {
namespace {

/// The clock that generated code reads: of a constant rate, and the same on all processors.
std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#elif defined(__riscv)
  std::uint64_t value;
  __asm__ volatile("rdtime %0" : "=r"(value));
  return value;
#else
#error "no clock is known for this machine"
#endif
}

double measured_rate() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::uint64_t first = ticks();
  std::chrono::duration<double> passed{};
  while (passed.count() < 0.02) passed = Clock::now() - start;
  return static_cast<double>(ticks() - first) / passed.count();
}

}  // namespace

double ticks_per_second() {
  static const double rate = measured_rate();
  return rate;
}

}  // namespace loopsmith
