// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/runtime/host_function.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/runtime/workspace.h"

namespace loopsmith {

/// What runs parallel loops: our pool, or what a host puts in its place.
struct ParallelFor {
  ls_parallel_for function = nullptr;
  void* data = nullptr;
};

/// Where kernels' workspace comes from.
struct Allocator {
  ls_allocate allocate = nullptr;
  ls_release release = nullptr;
  void* data = nullptr;
};

/// An ls_context with a workspace of its own. For one thread's calls at a time.
class Context {
 public:
  /// Parallel loops run on `pool`, unless the host has set `parallel_for`; alike the allocator.
  /// `call_host` calls the host's functions; null: there are none.
  explicit Context(std::shared_ptr<ThreadPool> pool, ParallelFor parallel_for = {},
                   Allocator allocator = {}, HostFunction call_host = {});
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ls_context* get() { return &c_context_; }
  const Workspace& workspace() const { return workspace_; }

 private:
  std::shared_ptr<ThreadPool> pool_;
  Workspace workspace_;
  std::optional<HostCaller> host_;
  ls_context c_context_;
};

}  // namespace loopsmith
