// SPDX-License-Identifier: Apache-2.0
// Races in random nests of serial and parallel loops, against all pairs of accesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "loopsmith/interp/testing/call.h"

namespace loopsmith::interp {
namespace {

using testing::Call;
using testing::function;

constexpr int elements = 12;

/// An iteration of a loop around an access.
struct Turn {
  int loop;
  bool is_parallel;
  int value;
  bool operator==(const Turn&) const = default;
};
struct Touch {
  std::vector<Turn> path;
  int element;
  bool is_write;
};

/// Draws a nest, and lists what it touches in the order in which it runs.
class Nest {
 public:
  explicit Nest(unsigned seed) : random_(seed) {}

  Stmt draw(int depth) {
    std::vector<Stmt> statements;
    for (int count = 1 + pick(2); count > 0; --count) {
      statements.push_back(depth > 0 && pick(3) > 0 ? loop(depth) : access());
    }
    return seq(statements);
  }
  Ptr<Buffer> buffer() const { return buffer_; }

  /// Whether two touches of one element, of which one writes, are in iterations that nothing
  /// orders.
  bool races() {
    std::vector<Touch> touches;
    for (const auto& run : runs_) run({}, {}, touches);
    for (std::size_t i = 0; i < touches.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Touch &a = touches[i], &b = touches[j];
        if (a.element != b.element || (!a.is_write && !b.is_write)) continue;
        const auto [x, y] = std::ranges::mismatch(a.path, b.path);
        const bool parts = x != a.path.end() && y != b.path.end();
        if (parts && x->loop == y->loop && x->is_parallel) return true;
      }
    }
    return false;
  }

 private:
  using Values = std::vector<int>;
  using Run = std::function<void(const std::vector<Turn>&, const Values&, std::vector<Touch>&)>;

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Stmt loop(int depth) {
    const int number = loops_++, extent = 1 + pick(3);
    const bool is_parallel = pick(2) == 0;
    const auto variable = var(fmt::format("i{}", number));
    std::vector<Run> outer = std::exchange(runs_, {});
    variables_.push_back(variable);
    const Stmt body = draw(depth - 1);
    variables_.pop_back();
    const std::vector<Run> inner = std::exchange(runs_, std::move(outer));
    runs_.push_back([=](std::vector<Turn> path, Values values, std::vector<Touch>& touches) {
      path.push_back({number, is_parallel, 0});
      values.push_back(0);
      for (int i = 0; i < extent; ++i) {
        path.back().value = values.back() = i;
        for (const Run& run : inner) run(path, values, touches);
      }
    });
    return for_loop(variable, 0, extent, body, is_parallel ? ForKind::parallel : ForKind::serial);
  }

  /// buffer[one] = buffer[other] * 2 + 1, which is no sum.
  Stmt access() {
    const auto [to, to_value] = index();
    const auto [from, from_value] = index();
    runs_.push_back(
        [=](const std::vector<Turn>& path, const Values& values, std::vector<Touch>& touches) {
          touches.push_back({path, from_value(values), false});
          touches.push_back({path, to_value(values), true});
        });
    const Expr one = float_imm(f32, 1);
    return store(buffer_, load(buffer_, {from}) * float_imm(f32, 2) + one, {to});
  }

  std::pair<Expr, std::function<int(const Values&)>> index() {
    const int constant = pick(elements);
    std::vector<int> factors;
    Expr sum = constant;
    for (const auto& variable : variables_) {
      factors.push_back(pick(4));
      sum = sum + variable * factors.back();
    }
    const auto value = [=](const Values& values) {
      int total = constant;
      for (std::size_t i = 0; i < factors.size(); ++i) total += factors[i] * values[i];
      return total % elements;
    };
    return {floormod(sum, elements), value};
  }

  std::mt19937 random_;
  Ptr<Buffer> buffer_ = decl_buffer({elements}, f32, "A");
  int loops_ = 0;
  std::vector<Ptr<Var>> variables_;
  std::vector<Run> runs_;
};

TEST(races_fuzz, finds_what_all_pairs_show) {
  int racing = 0;
  constexpr int programs = 4000;
  for (int seed = 0; seed < programs; ++seed) {
    Nest nest(static_cast<unsigned>(seed));
    const auto func = function({nest.buffer()}, nest.draw(3));
    std::vector<float> x(elements);
    const std::string error = Call(func).tensor(x).error();
    ASSERT_EQ(!error.empty(), nest.races()) << "seed " << seed << ": " << error;
    racing += !error.empty();
  }
  // Both answers are common.
  EXPECT_GT(racing, programs / 10);
  EXPECT_LT(racing, programs * 9 / 10);
}

}  // namespace
}  // namespace loopsmith::interp
