// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/context.h"

#include <mutex>

#include "loopsmith/runtime/memory.h"

namespace loopsmith {
namespace {

std::int32_t note_failure(ls_context* context, const ls_error* error) {
  static std::mutex mutex;  // threads of one parallel loop may fail together; failures are rare
  const std::lock_guard lock(mutex);
  context->error = *error;
  return error->code;
}

void* allocate_workspace(void* workspace, std::size_t size, std::size_t alignment) {
  return static_cast<Workspace*>(workspace)->allocate(size, alignment);
}

void release_workspace(void* workspace, void* memory, std::size_t size, std::size_t alignment) {
  static_cast<Workspace*>(workspace)->release(memory, size, alignment);
}

}  // namespace

Context::Context(std::shared_ptr<ThreadPool> pool, ParallelFor parallel_for, Allocator allocator,
                 HostFunction call_host)
    : pool_(std::move(pool)) {
  if (call_host) host_.emplace(std::move(call_host));
  if (!parallel_for.function) parallel_for = {ThreadPool::run_for_kernel, pool_.get()};
  if (!allocator.allocate) allocator = {allocate_workspace, release_workspace, &workspace_};
  c_context_ = {.abi_version = LS_ABI_VERSION,
                .reserved = 0,
                .parallel_for = parallel_for.function,
                .parallel_for_data = parallel_for.data,
                .allocate = allocator.allocate,
                .release = allocator.release,
                .allocator_data = allocator.data,
                .fail = note_failure,
                .error = {},
                .call_host = host_ ? HostCaller::call : call_no_function,
                .call_host_data = host_ ? &*host_ : nullptr};
}

}  // namespace loopsmith

void ls_context_init(ls_context* context) {
  const auto allocate = [](void*, std::size_t size, std::size_t alignment) {
    return loopsmith::allocate_aligned(size, alignment);
  };
  const auto release = [](void*, void* memory, std::size_t, std::size_t) {
    loopsmith::free_aligned(memory);
  };
  *context = {.abi_version = LS_ABI_VERSION,
              .reserved = 0,
              .parallel_for = loopsmith::ThreadPool::run_for_kernel,
              .parallel_for_data = loopsmith::ThreadPool::shared().get(),
              .allocate = allocate,
              .release = release,
              .allocator_data = nullptr,
              .fail = loopsmith::note_failure,
              .error = {},
              .call_host = loopsmith::call_no_function,
              .call_host_data = nullptr};
}

ls_context* ls_default_context() {
  static thread_local loopsmith::Context context(loopsmith::ThreadPool::shared());
  return context.get();
}
