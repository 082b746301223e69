// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "loopsmith/ir/cell_allocator.h"
#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

std::vector<Expr> sums(int count) {
  std::vector<Expr> result;
  const Expr x = var("x");
  for (int k = 0; k < count; ++k) result.push_back(x + (k + 1));
  return result;
}

/// Bytes of memory that this process has present.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

/// Hands values from one thread to another, one at a time.
class Handover {
 public:
  void put(std::vector<Expr> values) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !full_; });
    values_ = std::move(values);
    full_ = true;
    changed_.notify_one();
  }
  std::vector<Expr> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return full_; });
    full_ = false;
    changed_.notify_one();
    return std::move(values_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Expr> values_;
  bool full_ = false;
};

TEST(node_memory, thread_that_drops_feeds_thread_that_makes) {
  constexpr int rounds = 400;
  Handover handover;
  std::thread dropping([&] {
    for (int k = 0; k < rounds; ++k) {
      const std::vector<Expr> taken = handover.take();
      EXPECT_EQ(taken.size(), 5000U);
    }
  });
  for (int k = 0; k < 20; ++k) handover.put(sums(5000));
  [[maybe_unused]] const std::size_t before = resident_bytes();
  for (int k = 20; k < rounds; ++k) handover.put(sums(5000));
  dropping.join();
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(resident_bytes(), before + (16U << 20));  // two million sums are over 200 MB
#endif
}

TEST(node_memory, nodes_outlive_the_thread_that_made_them) {
  std::vector<std::vector<Expr>> made(4);
  std::vector<std::thread> threads;
  for (auto& values : made) threads.emplace_back([&values] { values = sums(1000); });
  for (auto& thread : threads) thread.join();
  const std::vector<Expr> after = sums(3000);
  for (const auto& values : made) {
    for (int k = 0; k < 1000; ++k) {
      EXPECT_EQ(values[k].as<Add>()->b.as<IntImm>()->value, k + 1);
      EXPECT_EQ(after[k].as<Add>()->b.as<IntImm>()->value, k + 1);
    }
  }
}

TEST(node_memory, large_nodes_and_small_ones_do_not_overlap) {
  std::vector<Expr> values;
  const Expr x = var("x");
  for (int k = 0; k < 500; ++k) {
    values.push_back(x + (k + 1));
    values.push_back(int_imm(i32, k + 1));
    if (k % 3 == 0) values.erase(values.begin() + k / 3);
  }
  for (const Expr& value : values) {
    const auto* sum = value.as<Add>();
    const auto* constant = sum ? sum->b.as<IntImm>() : value.as<IntImm>();
    ASSERT_TRUE(constant);
    EXPECT_LE(constant->value, 500);
  }
}

using Numbers = std::vector<std::int64_t, CellAllocator<std::int64_t>>;

TEST(node_memory, vectors_and_nodes_take_cells_of_their_own) {
  std::vector<Numbers> vectors;
  std::vector<Expr> nodes;
  const Expr x = var("x");
  for (int k = 0; k < 400; ++k) {  // From cells of 16 bytes to what is too large for one.
    vectors.emplace_back(static_cast<std::size_t>(k % 40 + 1), k);
    nodes.push_back(x + (k + 1));
    if (k % 7 == 3) vectors[static_cast<std::size_t>(k / 7)].clear();
    if (k % 7 == 5) vectors[static_cast<std::size_t>(k / 7)].shrink_to_fit();
  }
  for (int k = 0; k < 400; ++k) {
    for (const std::int64_t number : vectors[static_cast<std::size_t>(k)]) EXPECT_EQ(number, k);
    EXPECT_EQ(nodes[static_cast<std::size_t>(k)].as<Add>()->b.as<IntImm>()->value, k + 1);
  }
}

TEST(node_memory, vectors_outlive_the_thread_that_made_them) {
  std::vector<Numbers> made(100);
  std::thread making([&] {
    for (std::size_t k = 0; k < made.size(); ++k)
      made[k].assign(k % 30 + 1, static_cast<std::int64_t>(k));
  });
  making.join();
  const std::vector<Expr> nodes = sums(1000);
  for (std::size_t k = 0; k < made.size(); ++k) {
    EXPECT_EQ(made[k], Numbers(k % 30 + 1, static_cast<std::int64_t>(k)));
  }
}

}  // namespace
}  // namespace loopsmith
