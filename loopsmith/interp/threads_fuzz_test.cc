// SPDX-License-Identifier: Apache-2.0
// Races between threads that wait at barriers and exchange values, against all pairs of accesses.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "loopsmith/interp/testing/call.h"

namespace loopsmith::interp {
namespace threads_fuzz_test {

using testing::Call;
using testing::function;

constexpr int threads = 40;  // A warp, and a part of one.
constexpr int elements = 80;

enum class Step { store, load, block_barrier, warp_barrier, exchange };

/// What all threads do in turn; an access of thread t is at (factor * t + shift) % elements.
struct Action {
  Step step;
  int factor, shift;

  int element(int thread) const { return (factor * thread + shift) % elements; }
};

Stmt barrier(const char* scope) {
  return make(Evaluate{.value = call(i32, op("tvm_storage_sync"), {string_imm(scope)})});
}

class Program {
 public:
  explicit Program(unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int count) {
      return static_cast<int>(random() % static_cast<unsigned>(count));
    };
    const int length = 2 + pick(6);
    for (int i = 0; i < length; ++i) {
      constexpr Step steps[] = {Step::store,        Step::store,    Step::load,         Step::load,
                                Step::warp_barrier, Step::exchange, Step::block_barrier};
      constexpr int factors[] = {0, 1, 1, 2, elements - 1};
      actions_.push_back({steps[pick(7)], factors[pick(5)], pick(2) ? 0 : pick(elements)});
    }
  }

  Ptr<PrimFunc> func() const {
    const auto memory = decl_buffer({elements}, i32, "S"), seen = decl_buffer({threads}, i32, "X");
    const auto tx = var("tx");
    std::vector<Stmt> statements;
    for (const Action& action : actions_) {
      const Expr at = floormod(tx * action.factor + action.shift, elements);
      const Expr other = call(i32, op("tvm_warp_shuffle"), {-1, load(seen, {tx}), 0, 32, 32});
      statements.push_back(action.step == Step::store  ? store(memory, tx, {at})
                           : action.step == Step::load ? store(seen, load(memory, {at}), {tx})
                           : action.step == Step::exchange
                               ? store(seen, other, {tx})
                               : barrier(action.step == Step::warp_barrier ? "warp" : "shared"));
    }
    const auto axis =
        make(IterVar{.var = tx, .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
    return function(
        {memory, seen},
        make(AttrStmt{
            .node = axis, .attr_key = "thread_extent", .value = threads, .body = seq(statements)}));
  }

  /// Whether two threads access an element, one of them to write it, and no barrier is between.
  bool races() const {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      bool has_warp_barrier = false;
      for (std::size_t j = i; j < actions_.size(); ++j) {
        const Action &a = actions_[i], &b = actions_[j];
        if (b.step == Step::block_barrier) break;
        has_warp_barrier = has_warp_barrier || b.step == Step::warp_barrier;
        if (conflict(a, b, has_warp_barrier)) return true;
      }
    }
    return false;
  }

 private:
  static bool conflict(const Action& a, const Action& b, bool has_warp_barrier) {
    const auto accesses = [](const Action& x) {
      return x.step == Step::store || x.step == Step::load;
    };
    if (!accesses(a) || !accesses(b) || (a.step == Step::load && b.step == Step::load))
      return false;
    for (int t = 0; t < threads; ++t) {
      for (int u = 0; u < threads; ++u) {
        const bool is_ordered = t == u || (has_warp_barrier && t / 32 == u / 32);
        if (!is_ordered && a.element(t) == b.element(u)) return true;
      }
    }
    return false;
  }

  std::vector<Action> actions_;
};

TEST(threads_fuzz, finds_a_race_where_there_is_one) {
  int found = 0;
  constexpr unsigned cases = 400;
  for (unsigned seed = 0; seed < cases; ++seed) {
    const Program program(seed);
    std::vector<std::int32_t> memory(elements), seen(threads);
    std::iota(memory.begin(), memory.end(), 0);
    const std::string error = Call(program.func()).tensor(memory).tensor(seen).error();
    EXPECT_EQ(error.starts_with("InterpError: no_race:"), program.races()) << seed << ": " << error;
    found += program.races() ? 1 : 0;
  }
  EXPECT_GT(found, 50);
  EXPECT_LT(found, 350);
}

}  // namespace threads_fuzz_test
}  // namespace loopsmith::interp
