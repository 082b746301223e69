// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "loopsmith/runtime/runtime_options.h"

namespace loopsmith {

namespace detail {
class Team;
}

/// Threads that run parallel loops together.
///
/// Loops may be run from several threads at once and from within each other: all of them share the
/// workers, and no more than num_threads() threads work, callers included. Workers start with the
/// first loop; after a fork the child starts its own.
class ThreadPool {
 public:
  explicit ThreadPool(ThreadConfig config = {});
  /// Waits for the workers. No loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The pool of callers that have made none of their own.
  static const std::shared_ptr<ThreadPool>& shared();
  /// Lets the process end without waiting for the workers of the shared pool. A caller that knows
  /// that a loop will not end says so, at the end.
  static void leave_workers_behind();

  int num_threads() const { return num_threads_; }
  const ThreadConfig& config() const { return config_; }

  /// Runs `body` over begin..end-1 in chunks; see ls_parallel_for. Rethrows what a body threw.
  std::int32_t run(std::int64_t begin, std::int64_t end, ls_body body, void* closure);

  /// Calls `body(chunk_begin, chunk_end)` for chunks of begin..end-1. Rethrows what a call threw.
  template <class Body>
  void parallel_for(std::int64_t begin, std::int64_t end, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    const ls_body call = [](void* closure, std::int64_t from, std::int64_t to) -> std::int32_t {
      (*static_cast<Function*>(closure))(from, to);
      return LS_OK;
    };
    run(begin, end, call, const_cast<std::remove_const_t<Function>*>(std::addressof(body)));
  }

  /// `run` as an ls_parallel_for whose data is a ThreadPool; an exception becomes LS_EXCEPTION.
  static std::int32_t run_for_kernel(void* pool, std::int64_t begin, std::int64_t end, ls_body body,
                                     void* closure) noexcept;

 private:
  detail::Team& team();
  bool owns_team() const;

  const ThreadConfig config_;
  const int num_threads_;
  std::atomic<detail::Team*> team_{nullptr};
};

}  // namespace loopsmith
