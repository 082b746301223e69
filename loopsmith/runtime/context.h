// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "loopsmith/runtime/host_caller.h"
#include "loopsmith/runtime/runtime_options.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/runtime/workspace.h"

namespace loopsmith {

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
