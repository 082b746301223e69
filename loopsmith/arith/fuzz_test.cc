// SPDX-License-Identifier: Apache-2.0
// Random expressions: whatever the analysis says of them is compared with their values.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/evaluate_test.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::Environment;
using testing::evaluate;
using testing::evaluate_scalar;
using testing::show;

struct Domain {
  Ptr<Var> var;
  std::int64_t min;
  std::int64_t extent;
};

/// Makes expressions over variables of small ranges; of `lanes` lanes, from ramps and broadcasts.
class Generator {
 public:
  Generator(unsigned seed, DataType type) : random_(seed), type_(type) {
    const int count = pick(1, 3);
    for (int i = 0; i < count; ++i) {
      const bool is_signed = !type.is_uint();
      const std::int64_t min = is_signed && pick(0, 2) == 0 ? pick(-9, 0) : 0;
      domains_.push_back({var(std::string(1, static_cast<char>('x' + i)), type),
                          is_near_an_end() ? first_near_an_end() : min, pick(1, 12)});
    }
  }

  Expr vector(int depth) {
    if (depth == 0) {
      const Expr scalar = number(pick(0, 1));
      if (pick(0, 1) == 0) return broadcast(scalar, lanes);
      const Expr stride = pick(0, 3) == 0 ? number(0) : constant(pick_constant());
      return make(Ramp{.base = scalar, .stride = stride, .lanes = lanes});
    }
    const Expr a = vector(depth - 1);
    switch (pick(0, 8)) {
      case 0:
      case 1: return a + vector(depth - 1);
      case 2: return a - vector(depth - 1);
      case 3: return a * broadcast(constant(pick_constant()), lanes);
      case 4: return floordiv(a, broadcast(divisor(), lanes));
      case 5: return floormod(a, broadcast(divisor(), lanes));
      case 6: return min(a, vector(depth - 1));
      case 7: return max(a, vector(depth - 1));
      default: return select(a < vector(depth - 1), a, vector(depth - 1));
    }
  }

  Expr number(int depth) {
    if (depth == 0) return pick(0, 3) == 0 ? constant(pick_constant()) : variable();
    const Expr a = number(depth - 1);
    switch (pick(0, 15)) {
      case 0:
      case 1: return a + number(depth - 1);
      case 2:
      case 3: return a - number(depth - 1);
      case 4:
      case 5: return a * constant(pick_constant());
      case 6: return divide(pick(0, 1) != 0, a, number(pick(0, depth - 1)));
      case 7: return floordiv(a, divisor());
      case 8: return floormod(a, divisor());
      case 9: return truncdiv(a, divisor());
      case 10: return truncmod(a, divisor());
      case 11: return min(a, number(depth - 1));
      case 12: return max(a, number(depth - 1));
      case 13: return select(truth(depth - 1), a, number(depth - 1));
      case 14: return a * number(pick(0, depth - 1));
      default: return if_then_else(truth(pick(0, depth - 1)), a, number(depth - 1));
    }
  }

  Expr truth(int depth) {
    const int at = depth > 0 ? depth - 1 : 0;
    switch (pick(0, depth > 0 ? 9 : 5)) {
      case 0: return number(at) < number(at);
      case 1: return number(at) <= number(at);
      case 2: return number(at) > number(at);
      case 3: return number(at) >= number(at);
      case 4: return number(at) == number(at);
      case 5: return number(at) != number(at);
      case 6:
      case 7: return truth(at) && truth(at);
      case 8: return truth(at) || truth(at);
      default: return !truth(at);
    }
  }

  Environment values() {
    Environment result;
    for (const Domain& domain : domains_) {
      result[domain.var.get()] = domain.min + pick(0, static_cast<int>(domain.extent) - 1);
    }
    return result;
  }

  void teach(Analyzer& analyzer) const {
    for (const Domain& domain : domains_) {
      analyzer.bind(domain.var, range(int_imm(type_, domain.min), int_imm(type_, domain.extent)));
    }
  }

  Domains domains() const {
    Domains result;
    for (const Domain& domain : domains_) {
      const auto end = [&](std::int64_t value) { return int_imm(type_, value); };
      result[domain.var] = IntSet(end(domain.min), end(domain.min + domain.extent - 1));
    }
    return result;
  }

  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  static constexpr int lanes = 4;

 private:
  Expr variable() {
    return domains_[static_cast<std::size_t>(pick(0, static_cast<int>(domains_.size()) - 1))].var;
  }
  Expr constant(int value) {
    const std::int64_t center = is_near_an_end() ? first_near_an_end() : 0;
    return int_imm(type_, wrap_to(type_, center + value));
  }
  /// Now and then, of a type that wraps.
  bool is_near_an_end() { return !type_.is_index() && pick(0, 5) == 0; }
  /// The first of 12 values at an end of the type, or at the half of an unsigned one.
  std::int64_t first_near_an_end() {
    if (type_ == u64) return std::numeric_limits<std::int64_t>::min() + 16;
    if (pick(0, 1) == 0) return max_int(type_) - 11;
    return type_.is_uint() ? (std::int64_t{1} << (type_.bits - 1)) - 6 : min_int(type_);
  }
  int pick_constant() {
    static constexpr int values[] = {-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 12, 16};
    return values[pick(0, 14)];
  }
  Expr divisor() {
    const Expr value = constant(pick_constant());
    return is_const_int(value, 0) ? int_imm(type_, 7) : value;
  }
  Expr divide(bool floors, const Expr& a, const Expr& b) {
    if (is_const_int(b, 0)) return a;
    return floors ? floordiv(a, b) : floormod(a, b);
  }

  std::mt19937 random_;
  DataType type_;
  std::vector<Domain> domains_;
};

void expect_sound(unsigned seed, DataType type, int depth) {
  Generator generator(seed, type);
  Analyzer analyzer;
  generator.teach(analyzer);
  Expr number;
  Expr truth;
  try {
    number = generator.number(depth);
    truth = generator.truth(depth - 1);
  } catch (const UserError&) {
    return;  // A division by a constant that folded to 0.
  }
  const Expr forms[] = {analyzer.simplify(number), analyzer.rewrite_simplify(number),
                        analyzer.canonical_simplify(number)};
  const Expr truth_forms[] = {analyzer.simplify(truth), analyzer.rewrite_simplify(truth),
                              analyzer.canonical_simplify(truth)};
  const ConstIntBound bound = analyzer.const_int_bound(number);
  const ModularSet set = analyzer.modular_set(number);
  const bool is_proved = analyzer.can_prove(truth, ProofStrength::symbolic_bound);
  // Facts learned from the condition hold where it does.
  Expr inside;
  ConstIntBound bound_inside;
  ModularSet set_inside;
  {
    const ConstraintScope scope = analyzer.constraint_scope(truth);
    inside = analyzer.simplify(number);
    bound_inside = analyzer.const_int_bound(number);
    set_inside = analyzer.modular_set(number);
  }
  for (int trial = 0; trial < 12; ++trial) {
    const Environment values = generator.values();
    const auto expected = evaluate_scalar(number, values);
    const auto holds = evaluate_scalar(truth, values);
    if (expected) {
      for (const Expr& form : forms) {
        ASSERT_EQ(evaluate_scalar(form, values), expected)
            << "seed " << seed << ": " << show(number) << "\n  became " << show(form);
      }
      if (type == u64 && *expected < 0) continue;  // Larger than any bound can say.
      ASSERT_TRUE(bound.contains(*expected)) << "seed " << seed << ": " << show(number);
      ASSERT_TRUE(set.contains(*expected)) << "seed " << seed << ": " << show(number);
    }
    if (!holds) continue;
    for (const Expr& form : truth_forms) {
      ASSERT_EQ(evaluate_scalar(form, values), holds)
          << "seed " << seed << ": " << show(truth) << "\n  became " << show(form);
    }
    ASSERT_TRUE(*holds || !is_proved) << "seed " << seed << ": " << show(truth);
    if (!*holds || !expected) continue;
    ASSERT_EQ(evaluate_scalar(inside, values), expected)
        << "seed " << seed << ": " << show(number) << " where " << show(truth) << "\n  became "
        << show(inside);
    ASSERT_TRUE(bound_inside.contains(*expected))
        << "seed " << seed << ": " << show(number) << " where " << show(truth);
    ASSERT_TRUE(set_inside.contains(*expected))
        << "seed " << seed << ": " << show(number) << " where " << show(truth);
  }
}

TEST(fuzz, index_arithmetic_keeps_its_value) {
  for (unsigned seed = 0; seed < 6000; ++seed) {
    expect_sound(seed, seed % 5 == 0 ? i64 : i32, 1 + static_cast<int>(seed % 4));
    if (HasFatalFailure()) return;
  }
}

TEST(fuzz, wrapping_arithmetic_keeps_its_value) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    static constexpr DataType types[] = {i8, u8, i16, u16, u32, u64};
    expect_sound(seed, types[seed % 6], 1 + static_cast<int>(seed % 4));
    if (HasFatalFailure()) return;
  }
}

TEST(fuzz, sums_of_casts_keep_their_value) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    // To a wider type, and to one that holds the values or does not.
    static constexpr DataType froms[] = {i32, i64, i64}, types[] = {i64, i32, i32};
    Generator generator(seed, froms[seed % 3]);
    Analyzer analyzer;
    generator.teach(analyzer);
    Expr sum;
    try {
      for (int i = 0; i < 3; ++i) {
        const Expr number = generator.number(1 + static_cast<int>(seed % 3));
        const Expr far = seed % 3 == 2 ? number * int_imm(i64, 1 << 30) : number;
        const Expr term = cast(types[seed % 3], far);
        sum = i == 0 ? term : i == 1 ? sum - term : sum + term;
      }
    } catch (const UserError&) {
      continue;  // A division by a constant that folded to 0.
    }
    const Expr forms[] = {analyzer.simplify(sum), analyzer.canonical_simplify(sum)};
    for (int trial = 0; trial < 12; ++trial) {
      const Environment values = generator.values();
      const auto expected = evaluate_scalar(sum, values);
      for (const Expr& form : forms) {
        ASSERT_TRUE(!expected || evaluate_scalar(form, values) == expected)
            << "seed " << seed << ": " << show(sum) << "\n  became " << show(form);
      }
    }
  }
}

TEST(fuzz, vectors_keep_their_lanes) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Generator generator(seed, seed % 3 == 0 ? u8 : i32);
    Analyzer analyzer;
    generator.teach(analyzer);
    const Expr vector = generator.vector(1 + static_cast<int>(seed % 3));
    const Expr simple = analyzer.simplify(vector);
    const Expr by_rules = analyzer.rewrite_simplify(vector);
    const ConstIntBound bound = analyzer.const_int_bound(vector);
    const ModularSet set = analyzer.modular_set(vector);
    for (int trial = 0; trial < 8; ++trial) {
      const Environment values = generator.values();
      const auto expected = evaluate(vector, values);
      if (!expected) continue;
      for (const Expr& form : {simple, by_rules}) {
        ASSERT_EQ(evaluate(form, values), expected)
            << "seed " << seed << ": " << show(vector) << "\n  became " << show(form);
      }
      for (const std::int64_t lane : *expected) {
        ASSERT_TRUE(bound.contains(lane) && set.contains(lane)) << "seed " << seed << show(vector);
      }
    }
  }
}

TEST(fuzz, integer_sets_cover_all_values) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Generator generator(seed, i32);
    Expr number;
    try {
      number = generator.number(1 + static_cast<int>(seed % 4));
    } catch (const UserError&) {
      continue;  // A division by a constant that folded to 0.
    }
    Analyzer analyzer;
    // All variables run; then one of them stays as it is.
    Domains domains = generator.domains();
    const IntSet all = analyzer.int_set(number, domains);
    domains.erase(domains.begin());
    const IntSet some = analyzer.int_set(number, domains);
    for (int trial = 0; trial < 12; ++trial) {
      const Environment values = generator.values();
      const auto expected = evaluate_scalar(number, values);
      if (!expected) continue;
      for (const IntSet& set : {all, some}) {
        ASSERT_FALSE(set.is_nothing());
        const auto low =
            set.has_lower_bound() ? evaluate_scalar(set.min_value(), values) : expected;
        const auto high =
            set.has_upper_bound() ? evaluate_scalar(set.max_value(), values) : expected;
        ASSERT_TRUE((!low || *low <= *expected) && (!high || *expected <= *high))
            << "seed " << seed << ": " << show(number) << " is " << *expected << ", not in ["
            << (set.has_lower_bound() ? show(set.min_value()) : "open") << ", "
            << (set.has_upper_bound() ? show(set.max_value()) : "open") << "]";
      }
    }
  }
}

}  // namespace
}  // namespace loopsmith
