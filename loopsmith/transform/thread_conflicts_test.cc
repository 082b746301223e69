// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_conflicts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conflict_witness.h"
#include "loopsmith/transform/thread_owners.h"

namespace loopsmith {
namespace {

/// Random statements of a block of 8 threads, 4 along x and 2 along y, over shared memory, and what
/// happens when all of them run.
class RandomNests {
 public:
  explicit RandomNests(unsigned seed) : draws_(seed) {
    for (const auto& [name, extent] : {std::pair("y", 2), std::pair("x", 4)}) {
      For loop{.loop_var = var(name), .min = 0, .extent = extent, .body = no_op()};
      threads.push_back(make(std::move(loop)));
    }
    outer = make(For{.loop_var = var("k"), .min = 0, .extent = 3, .body = no_op()});
  }

  Stmt nest() {
    std::vector<Ptr<For>> loops;
    std::vector<Expr> variables{threads[0]->loop_var, threads[1]->loop_var, outer->loop_var};
    for (int i = draw(3); i > 0; --i) {
      loops.push_back(make(
          For{.loop_var = var("i"), .min = draw(2), .extent = Expr(2 + draw(3)), .body = no_op()}));
      variables.emplace_back(loops.back()->loop_var);
    }
    const std::vector<Expr> indices{index(variables), index(variables)};
    Stmt stmt = draw(2) ? store(memory, float_imm(f32, 1), indices)
                        : make(Evaluate{.value = load(memory, indices)});
    if (draw(4) == 0) {
      stmt = make(IfThenElse{.condition = digit(variables) < Expr(2), .then_case = stmt});
    }
    for (std::size_t i = loops.size(); i-- > 0;) {
      For loop = *loops[i];
      loop.body = stmt;
      stmt = make(std::move(loop));
    }
    return stmt;
  }

  std::vector<Ptr<For>> threads;
  Ptr<For> outer;
  Ptr<Buffer> memory = decl_buffer({64, 64}, f32, "S", "shared");

 private:
  int draw(int end) { return static_cast<int>(draws_() % static_cast<unsigned>(end)); }

  Expr digit(const std::vector<Expr>& variables) {
    const Expr& value =
        variables[static_cast<std::size_t>(draw(static_cast<int>(variables.size())))];
    switch (draw(4)) {
      case 0: return floordiv(value, Expr(2));
      case 1: return floormod(value, Expr(2));
      default: return value;
    }
  }

  /// A sum of digits, mostly of weights that keep it injective.
  Expr index(const std::vector<Expr>& variables) {
    Expr sum = draw(3);
    int weight = 1;
    for (int i = draw(4); i > 0; --i) {
      sum = sum + digit(variables) * Expr(weight);
      weight *= 1 + draw(4);
    }
    return draw(6) == 0 ? floormod(sum, Expr(4)) : sum;
  }

  std::mt19937 draws_;
};

/// What one thread uses in an iteration of the outer loop.
struct Use {
  std::int64_t thread, iteration;
  std::vector<std::int64_t> element;
  bool is_write;
};

/// Runs a nest by substitution: for all threads and iterations.
class Runner {
 public:
  explicit Runner(const RandomNests& nests) : nests_(nests) {}

  std::vector<Use> run(const Stmt& nest) {
    uses_.clear();
    for (std::int64_t k = 0; k < 3; ++k) {
      for (std::int64_t thread = 0; thread < 8; ++thread) {
        values_[nests_.outer->loop_var.get()] = iteration_ = k;
        values_[nests_.threads[0]->loop_var.get()] = thread / 4;
        values_[nests_.threads[1]->loop_var.get()] = thread % 4;
        thread_ = thread;
        run_stmt(nest);
      }
    }
    return uses_;
  }

 private:
  std::int64_t value(const Expr& expr) {
    if (const auto* constant = expr.as<IntImm>()) return constant->value;
    if (expr.is<Var>()) return values_.at(expr.get());
    if (const auto* node = expr.as<Add>()) return value(node->a) + value(node->b);
    if (const auto* node = expr.as<Mul>()) return value(node->a) * value(node->b);
    if (const auto* node = expr.as<FloorDiv>()) return value(node->a) / value(node->b);
    if (const auto* node = expr.as<FloorMod>()) return value(node->a) % value(node->b);
    const auto* less = expr.as<LT>();
    EXPECT_TRUE(less) << brief(expr);
    return value(less->a) < value(less->b);
  }

  void run_stmt(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      for (std::int64_t i = 0; i < value(loop->extent); ++i) {
        values_[loop->loop_var.get()] = value(loop->min) + i;
        run_stmt(loop->body);
      }
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      if (value(branch->condition)) run_stmt(branch->then_case);
    } else {
      const auto* store = stmt.as<BufferStore>();
      const auto* load = store ? nullptr : stmt.as<Evaluate>()->value.as<BufferLoad>();
      Use use{thread_, iteration_, {}, store != nullptr};
      for (const Expr& each : store ? store->indices : load->indices) {
        use.element.push_back(value(each));
      }
      uses_.push_back(std::move(use));
    }
  }

  const RandomNests& nests_;
  std::map<const Object*, std::int64_t> values_;
  std::vector<Use> uses_;
  std::int64_t thread_ = 0, iteration_ = 0;
};

/// True when two threads conflict, one in the earlier of two iterations that `are_wanted`.
template <class Wanted>
bool conflict_of(const std::vector<Use>& first, const std::vector<Use>& second,
                 Wanted&& are_wanted) {
  for (const Use& a : first) {
    for (const Use& b : second) {
      if (a.thread != b.thread && (a.is_write || b.is_write) && a.element == b.element &&
          are_wanted(a.iteration, b.iteration)) {
        return true;
      }
    }
  }
  return false;
}

TEST(thread_conflicts, quick_answers_are_those_of_all_threads) {
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    RandomNests nests(seed);
    const Stmt first = nests.nest(), second = nests.nest();
    const auto a = shared_accesses(first), b = shared_accesses(second);
    ASSERT_TRUE(a && b);
    Runner runner(nests);
    const std::vector<Use> of_first = runner.run(first), of_second = runner.run(second);
    const std::vector<Stmt> around{Stmt(nests.outer)};
    const std::string text = fmt::format("seed {}\n{}\n{}", seed, first, second);

    const bool conflicts_now = conflict_of(of_first, of_second, std::equal_to<>());
    const bool is_owned = are_of_one_thread({nests.threads, *a, *b, nullptr, {}});
    const bool has_witness = has_conflict_witness({nests.threads, around, nullptr, false}, *a, *b);
    EXPECT_FALSE(is_owned && conflicts_now) << text;
    EXPECT_FALSE(has_witness && !conflicts_now) << text;
    ++seen[conflicts_now ? (has_witness ? "witness" : "missed") : (is_owned ? "owned" : "apart")];
    const ThreadConflicts conflicts(nests.threads);
    EXPECT_TRUE(conflicts.may_conflict({first}, {second}, around) || !conflicts_now) << text;

    for (const bool is_next : {true, false}) {
      const bool conflicts_later = conflict_of(of_first, of_second, [&](auto before, auto after) {
        return is_next ? after == before + 1 : after > before;
      });
      const bool is_owned_later = are_of_one_thread({nests.threads, *a, *b, nests.outer, {}});
      const bool has_later =
          has_conflict_witness({nests.threads, {}, nests.outer, is_next}, *a, *b);
      EXPECT_FALSE(is_owned_later && conflicts_later) << text;
      EXPECT_FALSE(has_later && !conflicts_later) << text;
      ++seen[has_later ? "witness later" : is_owned_later ? "owned later" : "open later"];
      EXPECT_TRUE(conflicts.may_conflict_later({first}, {second}, *nests.outer, is_next, {}) ||
                  !conflicts_later)
          << text;
    }
  }
  // Most are decided.
  EXPECT_GT(seen["witness"], seen["missed"]);
  EXPECT_GT(seen["owned"], 80);
  EXPECT_GT(seen["witness later"], 200);
  EXPECT_GT(seen["owned later"], 80);
}

}  // namespace
}  // namespace loopsmith
