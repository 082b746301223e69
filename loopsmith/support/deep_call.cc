// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/deep_call.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace loopsmith::detail {
namespace {

constexpr std::size_t segment_bytes = std::size_t{16} << 20;
/// What one step of a recursion, and all that it calls that does not recurse, may need.
constexpr std::size_t reserve_bytes = std::size_t{192} << 10;

/// Stack memory of this thread that is not in use, for the next call.
struct FreeSegments {
  std::vector<void*> segments;

  ~FreeSegments() {
    for (void* segment : segments) munmap(segment, segment_bytes);
  }
  void* take() {
    if (!segments.empty()) {
      void* segment = segments.back();
      segments.pop_back();
      return segment;
    }
    void* segment = mmap(nullptr, segment_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED) throw std::bad_alloc();
    return segment;
  }
  void give(void* segment) {
    constexpr std::size_t kept = 2;
    if (segments.size() < kept) {
      segments.push_back(segment);
    } else {
      munmap(segment, segment_bytes);
    }
  }
};
thread_local FreeSegments free_segments;

/// One run on a segment: what to call, the way there and the way back.
struct Run {
  void (*fn)(void*);
  void* data;
  ucontext_t there{};
  ucontext_t back{};
  void* fake_stack = nullptr;
  const void* outer_bottom = nullptr;
  std::size_t outer_bytes = 0;
#if defined(__SANITIZE_THREAD__)
  void* outer_fiber = nullptr;
#endif
};

void enter(unsigned low, unsigned high) {
  auto* run = reinterpret_cast<Run*>(static_cast<std::uintptr_t>(low) |
                                     (static_cast<std::uintptr_t>(high) << 32));
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &run->outer_bottom, &run->outer_bytes);
#endif
  run->fn(run->data);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, run->outer_bottom, run->outer_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(run->outer_fiber, 0);
#endif
  setcontext(&run->back);
}

/// Makes the way there. Apart, because getcontext may return twice as far as a compiler knows.
void prepare(Run& run, void* segment) {
  getcontext(&run.there);
  run.there.uc_stack.ss_sp = segment;
  run.there.uc_stack.ss_size = segment_bytes;
  run.there.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&run);
  makecontext(&run.there, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
}

}  // namespace

thread_local const char* stack_limit = nullptr;

void find_stack_limit() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  // A main thread's stack may be "unlimited": then trust 8 MiB of it, counted from here.
  constexpr std::size_t trusted_bytes = std::size_t{8} << 20;
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  const char* low = static_cast<const char*>(bottom);
  if (!low || static_cast<std::size_t>(here - low) > trusted_bytes) {
    low = here - trusted_bytes + (std::size_t{1} << 20);
  }
  stack_limit = low + reserve_bytes;
}

void run_on_new_segment(void (*fn)(void*), void* data) {
  void* const segment = free_segments.take();
  const char* outer_limit = stack_limit;
  stack_limit = static_cast<const char*>(segment) + reserve_bytes;

  Run run{.fn = fn, .data = data};
  prepare(run, segment);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&run.fake_stack, segment, segment_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  run.outer_fiber = __tsan_get_current_fiber();
  void* fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(fiber, 0);
#endif
  swapcontext(&run.back, &run.there);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(run.fake_stack, nullptr, nullptr);
  __asan_unpoison_memory_region(segment, segment_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(fiber);
#endif
  stack_limit = outer_limit;
  free_segments.give(segment);
}

}  // namespace loopsmith::detail
