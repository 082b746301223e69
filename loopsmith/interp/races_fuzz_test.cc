// SPDX-License-Identifier: Apache-2.0
// Races in random nests of serial, parallel and vectorized loops, against all pairs of accesses.
#include <fmt/format.h>
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

/// An iteration of a loop around an access. Loops and accesses are numbered as they stand.
struct Around {
  int loop;
  ForKind kind;
  int value;
  bool operator==(const Around&) const = default;
};
struct Access {
  std::vector<Around> path;
  int statement;
  int element;
  bool is_write;

  /// Its place among what lanes that go in step do, `depth` loops around them.
  std::vector<int> place_in_lanes(std::ptrdiff_t depth) const {
    std::vector<int> place;
    for (auto each = path.begin() + depth; each != path.end(); ++each) {
      place.insert(place.end(), {each->loop, each->kind == ForKind::vectorized ? 0 : each->value});
    }
    place.push_back(statement);
    return place;
  }
};

/// Draws a nest, and lists what it accesses in the order in which it runs.
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

  /// Whether two accesses of one element, of which one writes, are in iterations that nothing
  /// orders.
  bool races() {
    std::vector<Access> accesses;
    for (const auto& run : runs_) run({}, {}, accesses);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Access &now = accesses[i], &then = accesses[j];
        if (now.element != then.element || (!now.is_write && !then.is_write)) continue;
        const auto [x, y] = std::ranges::mismatch(now.path, then.path);
        const bool parts = x != now.path.end() && y != then.path.end();
        if (!parts || x->loop != y->loop || x->kind == ForKind::serial) continue;
        if (x->kind == ForKind::parallel) return true;
        const auto depth = x - now.path.begin() + 1;
        const auto order = then.place_in_lanes(depth) <=> now.place_in_lanes(depth);
        // Of one statement the reads come first, then the writes of one lane after another.
        if (order > 0 || (order == 0 && then.is_write && !now.is_write)) return true;
      }
    }
    return false;
  }

 private:
  using Values = std::vector<int>;
  using Run = std::function<void(const std::vector<Around>&, const Values&, std::vector<Access>&)>;

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Stmt loop(int depth) {
    const int number = statements_++;
    const auto [extent, extent_value] = small(1 + pick(3), 4, pick(2) == 0);
    constexpr ForKind kinds[] = {ForKind::serial, ForKind::parallel, ForKind::vectorized};
    const ForKind kind = kinds[pick(3)];
    const auto variable = var(fmt::format("i{}", number));
    std::vector<Run> outer = std::exchange(runs_, {});
    variables_.push_back(variable);
    const Stmt body = draw(depth - 1);
    variables_.pop_back();
    const std::vector<Run> inner = std::exchange(runs_, std::move(outer));
    runs_.push_back([=](std::vector<Around> path, Values values, std::vector<Access>& accesses) {
      const int count = extent_value(values);
      path.push_back({number, kind, 0});
      values.push_back(0);
      for (int i = 0; i < count; ++i) {
        path.back().value = values.back() = i;
        for (const Run& run : inner) run(path, values, accesses);
      }
    });
    return for_loop(variable, 0, extent, body, kind);
  }

  /// buffer[one] = buffer[other] * 2 + 1, which is no sum.
  Stmt access() {
    const int number = statements_++;
    const auto [to, to_value] = small(pick(elements), elements, true);
    const auto [from, from_value] = small(pick(elements), elements, true);
    runs_.push_back(
        [=](const std::vector<Around>& path, const Values& values, std::vector<Access>& accesses) {
          accesses.push_back({path, number, from_value(values), false});
          accesses.push_back({path, number, to_value(values), true});
        });
    const Expr one = float_imm(f32, 1);
    return store(buffer_, load(buffer_, {from}) * float_imm(f32, 2) + one, {to});
  }

  /// A number below `end`: a constant, or with a multiple of each variable added.
  std::pair<Expr, std::function<int(const Values&)>> small(int constant, int end, bool varies) {
    std::vector<int> factors;
    Expr sum = constant;
    for (const auto& variable : variables_) {
      factors.push_back(varies ? pick(4) : 0);
      sum = sum + variable * factors.back();
    }
    const auto value = [=](const Values& values) {
      int total = constant;
      for (std::size_t i = 0; i < factors.size(); ++i) total += factors[i] * values[i];
      return total % end;
    };
    return {floormod(sum, end), value};
  }

  std::mt19937 random_;
  Ptr<Buffer> buffer_ = decl_buffer({elements}, f32, "A");
  int statements_ = 0;
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
