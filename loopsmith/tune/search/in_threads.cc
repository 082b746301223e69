// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/in_threads.h"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace loopsmith::tune {

void in_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::atomic_flag has_failed;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        if (!has_failed.test_and_set()) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < count && static_cast<int>(i) < threads; ++i) {
      others.emplace_back(work);
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace loopsmith::tune
