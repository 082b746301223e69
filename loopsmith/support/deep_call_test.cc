// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/deep_call.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace loopsmith {
namespace {

/// n, by n calls that each take about 200 bytes of stack.
int count_down(int n) {
  char frame[200];
  frame[n % 200] = static_cast<char>(n);
  if (n == 0) return 0;
  const int below = deep_call([&] { return count_down(n - 1); });
  return below + 1 + (frame[n % 200] != static_cast<char>(n));
}

void fail_at(int n) {
  if (n == 0) throw std::runtime_error("deep down");
  deep_call([&] { fail_at(n - 1); });
}

TEST(deep_call, a_recursion_may_be_deeper_than_the_stack) {
  EXPECT_EQ(count_down(1'000'000), 1'000'000);
  EXPECT_EQ(count_down(1'000'000), 1'000'000);
}

TEST(deep_call, results_and_exceptions_arrive) {
  EXPECT_EQ(deep_call([] { return std::string("text"); }), "text");
  const auto unique = deep_call([] { return std::make_unique<int>(3); });
  EXPECT_EQ(*unique, 3);
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer cannot follow an exception from one stack to another";
#endif
  try {
    fail_at(200'000);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "deep down");
  }
}

TEST(deep_call, works_in_each_thread) {
  std::vector<std::thread> threads;
  std::vector<int> results(4);
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&results, t] { results[t] = count_down(200'000); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<int>(4, 200'000));
}

}  // namespace
}  // namespace loopsmith
