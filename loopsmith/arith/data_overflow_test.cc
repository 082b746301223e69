// SPDX-License-Identifier: Apache-2.0
// What a program reads may be any value of its type: simplified code gives what the code as written
// gives, wherever that does not overflow.
#include <gtest/gtest.h>

#include <random>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/fuzz_cases.h"

namespace loopsmith {
namespace {

using testing::show;

/// Evaluates int32 expressions as compiled code does: they wrap, and a quotient by 0 is 0.
class WrappingMachine {
 public:
  Expr a = load(decl_buffer({1}, i32, "A"), {0});
  Expr b = load(decl_buffer({1}, i32, "B"), {0});
  Expr x = var("x");  ///< Bound to A.
  Expr p = var("p");  ///< A parameter that is data, and what is computed of it once.
  Expr q = var("q");
  std::int64_t value_of_a = 0, value_of_b = 0;
  /// What q is: p with some bits turned over.
  static constexpr std::int64_t turned = 5;
  bool has_overflowed = false;

  std::int64_t run(const Expr& e) {
    if (const auto* constant = e.as<IntImm>()) return constant->value;
    if (const auto* read = e.as<BufferLoad>()) {
      return read->buffer.get() == a.as<BufferLoad>()->buffer.get() ? value_of_a : value_of_b;
    }
    if (e.same_as(p)) return value_of_b;
    if (e.same_as(q)) return value_of_b ^ turned;
    if (e.is<Var>()) return value_of_a;
    if (const auto* no = e.as<Not>()) return run(no->a) == 0;
    if (const auto* choice = e.as<Select>()) {
      const std::int64_t yes = run(choice->true_value), no = run(choice->false_value);
      return run(choice->condition) != 0 ? yes : no;
    }
    const auto& node = static_cast<const Add&>(*e.get());
    return operate(e.get()->kind, run(node.a), run(node.b));
  }

 private:
  std::int64_t wrap(std::int64_t exact) {
    const std::int64_t wrapped = wrap_to(i32, exact);
    has_overflowed |= wrapped != exact;
    return wrapped;
  }
  std::int64_t operate(std::uint16_t kind, std::int64_t p, std::int64_t q) {
    const bool divides = kind == kind_of<Div> || kind == kind_of<Mod> ||
                         kind == kind_of<FloorDiv> || kind == kind_of<FloorMod>;
    if (divides && q == 0) return 0;
    if (kind == kind_of<Add>) return wrap(p + q);
    if (kind == kind_of<Sub>) return wrap(p - q);
    if (kind == kind_of<Mul>) return wrap(p * q);
    if (kind == kind_of<Div>) return wrap(p / q);
    if (kind == kind_of<Mod>) return p % q;
    if (kind == kind_of<FloorDiv>) return wrap(arith::floor_quotient(p, q));
    if (kind == kind_of<FloorMod>) return arith::floor_remainder(p, q);
    if (kind == kind_of<Min>) return std::min(p, q);
    if (kind == kind_of<Max>) return std::max(p, q);
    if (kind == kind_of<EQ>) return p == q;
    if (kind == kind_of<NE>) return p != q;
    if (kind == kind_of<LT>) return p < q;
    if (kind == kind_of<LE>) return p <= q;
    if (kind == kind_of<GT>) return p > q;
    if (kind == kind_of<GE>) return p >= q;
    if (kind == kind_of<And>) return p != 0 && q != 0;
    if (kind == kind_of<Or>) return p != 0 || q != 0;
    ADD_FAILURE() << "no such operation";
    return 0;
  }
};

class DataGenerator {
 public:
  DataGenerator(const WrappingMachine& machine, unsigned seed) : machine_(machine), random_(seed) {}

  Expr number(int depth) {
    if (depth == 0) {
      const Expr leaves[] = {machine_.a, machine_.b, machine_.x,
                             machine_.p, machine_.q, constant()};
      return leaves[pick(6)];
    }
    const Expr p = number(depth - 1);
    const Expr q = number(pick(depth));
    switch (pick(12)) {
      case 0: return p + q;
      case 1: return p - q;
      case 2: return p * constant();
      case 3: return floordiv(p, divisor());
      case 4: return floormod(p, divisor());
      case 5: return truncdiv(p, divisor());
      case 6: return truncmod(p, divisor());
      case 7: return min(p, q);
      case 8: return max(p, q);
      case 9: return p + constant();
      case 10:
        if (q.is<IntImm>()) return p;
        return pick(2) != 0 ? floordiv(p, q) : floormod(p, q);
      default: return select(truth(depth - 1), p, q);
    }
  }
  Expr truth(int depth) {
    const Expr p = number(depth), q = pick(2) != 0 ? number(pick(depth + 1)) : constant();
    const Expr all[] = {p<q, p <= q, p == q, p != q, p> q, p >= q};
    return all[pick(6)];
  }
  std::int64_t value() {
    const std::int64_t ends[] = {INT32_MIN, INT32_MAX, 0, INT32_MAX / 7};
    if (pick(4) == 0) return static_cast<std::int32_t>(random_());
    return std::clamp<std::int64_t>(ends[pick(4)] + static_cast<int>(pick(41)) - 20, INT32_MIN,
                                    INT32_MAX);
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  unsigned pick(int count) { return pick(static_cast<unsigned>(count)); }
  Expr constant() { return int_imm(i32, static_cast<int>(pick(25)) - 12); }
  Expr divisor() {
    const int sizes[] = {2, 3, 4, 6, 7, 8, 12, 1000};
    return int_imm(i32, pick(4) == 0 ? -sizes[pick(8)] : sizes[pick(8)]);
  }

  const WrappingMachine& machine_;
  std::mt19937 random_;
};

TEST(data_overflow, simpler_forms_overflow_only_where_what_was_written_does) {
  const auto cases = static_cast<unsigned>(testing::fuzz_cases(4000));
  unsigned compared = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    WrappingMachine machine;
    DataGenerator generate(machine, seed);
    const Expr written = seed % 4 == 0 ? generate.truth(2) : generate.number(1 + seed % 3);
    Analyzer analyzer;
    analyzer.bind(Ptr<Var>::from(machine.x), machine.a);
    analyzer.mark_data(Ptr<Var>::from(machine.p));
    analyzer.learn(Ptr<Var>::from(machine.q), machine.p ^ int_imm(i32, WrappingMachine::turned));
    const Expr forms[] = {analyzer.simplify(written), analyzer.rewrite_simplify(written),
                          analyzer.canonical_simplify(written)};
    for (int draw = 0; draw < 20; ++draw) {
      machine.value_of_a = generate.value();
      machine.value_of_b = generate.value();
      machine.has_overflowed = false;
      const std::int64_t expected = machine.run(written);
      if (machine.has_overflowed) continue;
      ++compared;
      for (const Expr& form : forms) {
        ASSERT_EQ(machine.run(form), expected)
            << show(written) << "  =>  " << show(form) << "  where A = " << machine.value_of_a
            << ", B = " << machine.value_of_b << ", seed " << seed;
      }
    }
  }
  EXPECT_GT(compared, cases * 5);
}

TEST(data_overflow, variables_are_data_where_their_values_are) {
  WrappingMachine machine;
  const auto read = var("read"), computed = var("computed"), index = var("index");
  Analyzer analyzer;
  analyzer.bind(read, machine.a);
  analyzer.bind(computed, machine.a ^ machine.b);
  const auto simple = [&](const Expr& e) { return show(analyzer.simplify(e)); };
  EXPECT_EQ(simple(floordiv(floordiv(read, 4) + 100, 8)), "((((read // 4) + 4) // 8) + 12)");
  EXPECT_EQ(simple(floordiv(floordiv(computed, 4) + 100, 8)),
            "((((computed // 4) + 4) // 8) + 12)");
  EXPECT_EQ(simple(floordiv(floordiv(index, 4) + 100, 8)), "(((index + 16) // 32) + 12)");
}

TEST(data_overflow, tells_what_may_overflow) {
  WrappingMachine machine;
  Analyzer analyzer;
  const auto parameter = Ptr<Var>::from(machine.p), index = Ptr<Var>::from(machine.x);
  analyzer.mark_data(parameter);
  const Expr small = cast(i32, load(decl_buffer({1}, i8, "S"), {0}));
  EXPECT_TRUE(analyzer.may_overflow(parameter - 3));
  EXPECT_TRUE(analyzer.may_overflow(max(index, floordiv(machine.a * 2, 4))));
  EXPECT_TRUE(analyzer.may_overflow(parameter ^ machine.a));  // An unknown operation.
  EXPECT_FALSE(analyzer.may_overflow(parameter));
  EXPECT_FALSE(analyzer.may_overflow(min(floordiv(parameter, 4), index + 3)));
  EXPECT_FALSE(analyzer.may_overflow(small * 1000 + 7));
  EXPECT_FALSE(analyzer.may_overflow(index + 3));
}

TEST(data_overflow, what_is_data_stays_so_when_terms_are_forgotten) {
  const auto parameter = var("p");
  Analyzer analyzer;
  analyzer.mark_data(parameter);
  constexpr int enough_to_forget = 40000;
  for (int i = 0; i < enough_to_forget; ++i) (void)analyzer.simplify(var("other") + i);
  EXPECT_EQ(show(analyzer.simplify(floordiv(floordiv(parameter, 4) + 100, 8))),
            "((((p // 4) + 4) // 8) + 12)");
}

TEST(data_overflow, what_cannot_overflow_is_simplified_like_indices) {
  WrappingMachine machine;
  Analyzer analyzer;
  const auto simple = [&](const Expr& e) { return show(analyzer.simplify(e)); };
  const Expr a = machine.a, b = machine.b;
  const Expr small = cast(i32, load(decl_buffer({1}, i8, "S"), {0}));
  EXPECT_EQ(simple(floordiv(a * 8, 4)), "(A(0) * 2)");
  EXPECT_EQ(simple(floordiv(floordiv(a, 4), 8)), "(A(0) // 32)");
  EXPECT_EQ(simple(a + 3 - b - 3 - a), "(B(0) * -1)");
  EXPECT_EQ(simple(a * 4 < b * 4 + 3), "(A(0) <= B(0))");
  EXPECT_EQ(simple(a + 1 > a), "1");
  EXPECT_EQ(simple(small < 7 - small), "(int32(S(0)) < 4)");
  EXPECT_EQ(simple(floordiv(floordiv(small, 4) + 100, 8)), "(((int32(S(0)) + 16) // 32) + 12)");
  // These would not be the same for large A.
  EXPECT_EQ(simple(a < b - 3), "(A(0) < (B(0) - 3))");
  EXPECT_EQ(simple(floormod(0 - a, 7)), "((A(0) * -1) % 7)");
  EXPECT_EQ(simple(floordiv(a, -7)), "(A(0) // -7)");
  EXPECT_EQ(simple(floordiv(a, a)), "(A(0) // A(0))");
}

}  // namespace
}  // namespace loopsmith
