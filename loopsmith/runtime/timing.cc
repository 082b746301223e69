// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/timing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "loopsmith/runtime/dtype.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

constexpr double shortest_sample = 1e-3;
constexpr int max_calls = 1'000'000;

/// Writes back and drops one line from the caches of all processors.
void drop_line(const std::byte* line) {
#if defined(__x86_64__)
  _mm_clflush(line);
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
}

void drop_from_caches(const DLTensor& tensor) {
  std::int64_t first = 0;  // offsets in elements
  std::int64_t last = 0;
  std::int64_t compact = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return;
    const std::int64_t stride = tensor.strides ? tensor.strides[i] : compact;
    (stride < 0 ? first : last) += (tensor.shape[i] - 1) * stride;
    compact *= tensor.shape[i];
  }
  const std::byte* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  const std::byte* end = data + size_in_bytes(tensor.dtype, last + 1);
  constexpr std::ptrdiff_t line = 64;
  for (data -= size_in_bytes(tensor.dtype, -first); data < end; data += line) drop_line(data);
  drop_line(end - 1);
}

void drop_from_caches(std::span<const CallArgument> arguments) {
  for (const CallArgument& argument : arguments) {
    const bool is_here =
        argument.kind == LS_TENSOR && argument.value.as_tensor->device.device_type == kDLCPU;
    if (is_here) drop_from_caches(*argument.value.as_tensor);
  }
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb sy" ::: "memory");
#endif
}

/// Seconds that `number` calls take.
double seconds(const std::function<void()>& call, int number, const Clock& clock) {
  return clock([&] {
    for (int i = 0; i < number; ++i) call();
  });
}

/// How many calls take a sample's time.
int choose_number(const std::function<void()>& call, const Clock& clock) {
  int number = 1;
  while (true) {
    const double elapsed = seconds(call, number, clock);
    if (elapsed >= shortest_sample || number >= max_calls) return number;
    const double wanted = number * std::min(1.2 * shortest_sample / std::max(elapsed, 1e-9), 100.0);
    number = std::max(number + 1, static_cast<int>(std::min<double>(std::ceil(wanted), max_calls)));
  }
}

}  // namespace

double seconds_on_host(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Timing measure(const std::function<void()>& call, std::span<const CallArgument> arguments,
               const TimingOptions& options, const Clock& clock) {
  require(options.repeat > 0, "repeat_is_positive", hint("pass 1 or more"),
          "time: repeat is {}, not positive", options.repeat);
  require(options.warmup >= 0 && options.number >= 0, "counts_are_not_negative",
          hint("pass 0 or more"), "time: warmup is {} and number is {}", options.warmup,
          options.number);
  require(!options.cold || options.number <= 1, "cold_calls_are_single",
          hint("leave number out: only the first call of a sample finds cold caches"),
          "time: number is {} for cold samples", options.number);

  int number = options.number;
  if (number == 0) number = options.cold ? 1 : choose_number(call, clock);
  Timing timing;
  for (int i = 0; i < options.warmup + options.repeat; ++i) {
    if (options.cold) drop_from_caches(arguments);
    const double sample = seconds(call, number, clock) / number;
    if (i >= options.warmup) timing.samples.push_back(sample);
  }

  std::vector<double> sorted = timing.samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  timing.min = sorted.front();
  timing.median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  timing.mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  return timing;
}

}  // namespace loopsmith
