// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/context.h"

#include <gtest/gtest.h>

#include <thread>

#include "loopsmith/runtime/testing/time_limit.h"

namespace loopsmith {
namespace {

TEST(workspace, keeps_blocks_for_the_next_call) {
  Workspace workspace;
  void* first = workspace.allocate(10000, 64);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  void* second = workspace.allocate(10000, 64);
  EXPECT_NE(first, second);
  workspace.release(first, 10000, 64);
  EXPECT_GE(workspace.kept(), 10000U);
  EXPECT_EQ(workspace.allocate(10010, 64), first);  // a little more fits as well
  EXPECT_EQ(workspace.kept(), 0U);
  workspace.release(first, 10010, 64);
  void* other_alignment = workspace.allocate(10000, 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other_alignment) % 4096, 0U);
  EXPECT_NE(other_alignment, first);
  workspace.release(other_alignment, 10000, 4096);
  workspace.release(second, 10000, 64);
  workspace.release(nullptr, 10000, 64);
}

TEST(workspace, keeps_no_more_than_its_limit) {
  Workspace workspace;
  const std::size_t size = Workspace::max_kept / 2 + 1;
  void* first = workspace.allocate(size, 64);
  void* second = workspace.allocate(size, 64);
  workspace.release(first, size, 64);
  workspace.release(second, size, 64);
  EXPECT_LE(workspace.kept(), Workspace::max_kept);
  EXPECT_GE(workspace.kept(), size);
}

TEST(workspace, says_null_when_there_is_no_memory) {
  Workspace workspace;
  EXPECT_EQ(workspace.allocate(std::size_t{1} << 60, 64), nullptr);
  EXPECT_EQ(workspace.allocate(~std::size_t{0}, 64), nullptr);
}

TEST(workspace, serves_many_threads) {
  const TimeLimit limit;
  Workspace workspace;
  ThreadPool pool({.num_threads = 3});
  pool.parallel_for(0, 300, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const auto size = static_cast<std::size_t>(64 + i % 7 * 1000);
      auto* bytes = static_cast<unsigned char*>(workspace.allocate(size, 64));
      bytes[0] = bytes[size - 1] = static_cast<unsigned char>(i);
      EXPECT_EQ(bytes[0], bytes[size - 1]);
      workspace.release(bytes, size, 64);
    }
  });
}

/// What a kernel does with a context: workspace, a parallel loop, a failure in it.
std::int32_t use(ls_context* context) {
  void* memory = context->allocate(context->allocator_data, 4096, 128);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 128, 0U);
  context->release(context->allocator_data, memory, 4096, 128);
  return context->parallel_for(
      context->parallel_for_data, 0, 100,
      [](void* closure, std::int64_t from, std::int64_t to) -> std::int32_t {
        if (from > 42 || to <= 42) return LS_OK;
        auto* own = static_cast<ls_context*>(closure);
        const ls_error error = {.code = LS_ASSERTION, .parameter = -1, .message = "42 is here"};
        return own->fail(own, &error);
      },
      context);
}

TEST(context, gives_kernels_threads_memory_and_a_place_for_errors) {
  const TimeLimit limit;
  ls_context plain;
  ls_context_init(&plain);
  Context owned(std::make_shared<ThreadPool>(ThreadConfig{.num_threads = 2}));
  for (ls_context* context : {&plain, owned.get(), ls_default_context()}) {
    EXPECT_EQ(context->abi_version, static_cast<std::uint32_t>(LS_ABI_VERSION));
    EXPECT_EQ(use(context), LS_ASSERTION);
    EXPECT_EQ(context->error.code, LS_ASSERTION);
    EXPECT_STREQ(context->error.message, "42 is here");
    char text[64];
    EXPECT_EQ(ls_error_text(&context->error, text, sizeof text), 10);
    EXPECT_STREQ(text, "42 is here");
  }
}

TEST(context, the_default_is_a_thread_s_own) {
  ls_context* own = ls_default_context();
  EXPECT_EQ(own, ls_default_context());
  std::thread([own] { EXPECT_NE(own, ls_default_context()); }).join();
}

TEST(context, a_host_replaces_threads_and_memory) {
  static int loops = 0, allocations = 0, releases = 0;
  const ParallelFor serial{
      [](void*, std::int64_t begin, std::int64_t end, ls_body body, void* closure) {
        ++loops;
        return body(closure, begin, end);
      },
      nullptr};
  const Allocator counting{[](void*, std::size_t size, std::size_t alignment) {
                             ++allocations;
                             return std::aligned_alloc(alignment, size);
                           },
                           [](void*, void* memory, std::size_t, std::size_t) {
                             ++releases;
                             std::free(memory);
                           },
                           nullptr};
  Context context(ThreadPool::shared(), serial, counting);
  EXPECT_EQ(use(context.get()), LS_ASSERTION);
  EXPECT_EQ(loops, 1);
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(releases, 1);
}

}  // namespace
}  // namespace loopsmith
