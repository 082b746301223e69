// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "loopsmith/runtime/cpus.h"
#include "loopsmith/runtime/thread_team.h"

namespace loopsmith {
namespace {

/// Counts the forks that led to this process, so that a child knows that its workers are not its
/// own.
constinit std::atomic<std::uint64_t> process_number{0};

void count_forks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { process_number.fetch_add(1); });
}

std::atomic<bool> workers_are_left = false;

int choose_num_threads(const ThreadConfig& config) {
  constexpr int most = 4096;
  if (config.num_threads > 0) return std::min(config.num_threads, most);
  if (!config.affinity.empty()) return std::min(static_cast<int>(config.affinity.size()), most);
  return std::min(default_num_threads(), most);
}

}  // namespace

ThreadPool::ThreadPool(ThreadConfig config)
    : config_(std::move(config)), num_threads_(choose_num_threads(config_)) {
  count_forks();
}

ThreadPool::~ThreadPool() {
  if (owns_team())
    delete team_.load();  // else it is the parent's: its threads are not here to be joined
}

const std::shared_ptr<ThreadPool>& ThreadPool::shared() {
  // Its workers end with the process (or when the library is unloaded); the pool itself stays for
  // threads that are still running then.
  static const auto* pool = new std::shared_ptr<ThreadPool>(std::make_shared<ThreadPool>());
  static const struct AtExit {
    ~AtExit() {
      if (!workers_are_left && (*pool)->owns_team()) (*pool)->team_.load()->stop();
    }
  } at_exit;
  return *pool;
}

void ThreadPool::leave_workers_behind() {
  workers_are_left = true;
}

bool ThreadPool::owns_team() const {
  const detail::Team* team = team_.load(std::memory_order_acquire);
  return team && team->process == process_number.load(std::memory_order_relaxed);
}

detail::Team& ThreadPool::team() {
  if (owns_team()) [[likely]]
    return *team_.load(std::memory_order_acquire);
  detail::Team* old = team_.load(std::memory_order_acquire);
  auto fresh = std::make_unique<detail::Team>(num_threads_, config_.affinity,
                                              std::chrono::microseconds(config_.spin_microseconds),
                                              process_number.load(std::memory_order_relaxed));
  if (!team_.compare_exchange_strong(old, fresh.get())) return *old;  // another thread was first
  fresh->start();
  return *fresh.release();
}

std::int32_t ThreadPool::run(std::int64_t begin, std::int64_t end, ls_body body, void* closure) {
  return team().run(begin, end, body, closure);
}

std::int32_t ThreadPool::run_for_kernel(void* pool, std::int64_t begin, std::int64_t end,
                                        ls_body body, void* closure) noexcept {
  try {
    return static_cast<ThreadPool*>(pool)->run(begin, end, body, closure);
  } catch (...) {
    return LS_EXCEPTION;
  }
}

}  // namespace loopsmith
