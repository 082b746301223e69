// SPDX-License-Identifier: Apache-2.0
// The expansions against the C library in a wider type: samples over all exponents, near the points
// where formulas change, and all special values. docs/math.md has the errors of every float32.
#include "loopsmith/transform/math/functions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "loopsmith/transform/math/math_builder.h"
#include "loopsmith/transform/math/testing/program.h"

namespace loopsmith {
namespace {

using testing::ScalarProgram;
using Real = long double;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Values that every function must get right, in any type.
const double special[] = {0.0,
                          -0.0,
                          1,
                          -1,
                          2,
                          -2,
                          3,
                          -3,
                          0.5,
                          -0.5,
                          1.5,
                          -1.5,
                          inf,
                          -inf,
                          nan,
                          1e10,
                          -1e10,
                          88.7,
                          89.5,
                          -87.5,
                          -104.5,
                          38.6,
                          -45.5,
                          127.9,
                          128.1,
                          -149.5,
                          709.7,
                          710.5,
                          -745.5,
                          1e-30,
                          -1e-30,
                          0x1p-126,
                          0x1p-149,
                          -0x1p-149,
                          0x1p-1022,
                          0x1p-1074,
                          -0x1p-1074,
                          0x1.fffffep127,
                          -0x1.fffffep127,
                          0x1.fffffffffffffp1023,
                          -0x1.fffffffffffffp1023,
                          0x1.fffffep-1,
                          0x1.000002p0,
                          0x1.000002p-1,
                          2.5,
                          -2.5,
                          8388607.5,
                          0x1.fffffffffffffp-2};

struct Case {
  const char* name;
  Expr (*lower)(const Expr&);
  Real (*reference)(Real);
  double bound_float;  ///< Largest error allowed, in ulp.
  double bound_double;
  double low, high;  ///< Where the interesting values are.
};

Real sigmoid(Real x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
Real rsqrt(Real x) {
  return 1 / std::sqrt(x);
}

const Case cases[] = {
    {"exp", math::lower_exp, std::exp, 1, 1, -110, 90},
    {"exp2", math::lower_exp2, std::exp2, 1, 1, -152, 129},
    {"exp10", math::lower_exp10, [](Real x) { return std::pow(Real(10), x); }, 1.1, 1, -46, 39},
    {"expm1", math::lower_expm1, std::expm1, 1.5, 2, -20, 90},
    {"sigmoid", math::lower_sigmoid, sigmoid, 1.1, 1.1, -110, 110},
    {"log", math::lower_log, std::log, 1, 1, 0.4, 2.5},
    {"log2", math::lower_log2, std::log2, 1, 1, 0.4, 2.5},
    {"log10", math::lower_log10, std::log10, 1, 1, 0.4, 2.5},
    {"log1p", math::lower_log1p, std::log1p, 1.5, 1.5, -1, 3},
    {"sinh", math::lower_sinh, std::sinh, 1.7, 1.7, -5, 5},
    {"cosh", math::lower_cosh, std::cosh, 1.5, 1.5, -5, 5},
    {"tanh", math::lower_tanh, std::tanh, 1.5, 1.6, -3, 3},
    {"asinh", math::lower_asinh, std::asinh, 0.6, 1.2, -5, 5},
    {"acosh", math::lower_acosh, std::acosh, 0.6, 1.7, 1, 3},
    {"atanh", math::lower_atanh, std::atanh, 0.6, 1.2, -1, 1},
    {"sin", math::lower_sin, std::sin, 1.7, 1, -10, 10},
    {"cos", math::lower_cos, std::cos, 1.7, 1, -10, 10},
    {"tan", math::lower_tan, std::tan, 2.6, 1.5, -10, 10},
    {"asin", math::lower_asin, std::asin, 1.6, 1.6, -1, 1},
    {"acos", math::lower_acos, std::acos, 1, 1.1, -1, 1},
    {"atan", math::lower_atan, std::atan, 1.9, 1.9, -4, 4},
    {"erf", math::lower_erf, std::erf, 1.2, 1.2, -6, 6},
    {"rsqrt", math::lower_rsqrt, rsqrt, 1.5, 1.5, 0.5, 2},
};

/// The distance of two neighbours of the format at `value`.
Real ulp_at(DataType type, Real value) {
  const int digits = type == f32 ? 24 : 53;
  const int least = type == f32 ? -149 : -1074;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(Real(1), std::max(exponent - digits, least));
}

/// How far `got` is from `want` in ulp; 0 for equal special values, infinite for different ones.
double error_in_ulp(DataType type, double got, Real want) {
  const Real largest = type == f32 ? Real(0x1.ffffffp127) : Real(0x1.fffffffffffff8p1023L);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : inf;
  if (std::abs(want) > largest || std::isinf(got)) {
    const bool overflows = std::abs(want) > largest * (1 - ulp_at(type, 1));
    const bool may = std::isinf(got) || std::abs(Real(got)) > largest * (1 - 2 * ulp_at(type, 1));
    return overflows && may && std::signbit(got) == std::signbit(want) ? 0 : inf;
  }
  if (std::signbit(got) != std::signbit(want)) return inf;
  return static_cast<double>(std::abs(got - want) / ulp_at(type, want));
}

/// Random numbers of all exponents, around 1, and between `low` and `high`.
std::vector<double> samples(DataType type, double low, double high, int count) {
  std::mt19937_64 random(42);
  std::vector<double> result;
  for (const double value : special) {
    if (type == f64 || value == 0 || static_cast<float>(value) != 0) result.push_back(value);
  }
  std::uniform_real_distribution<double> inside(low, high), mantissa(1, 2);
  const int least = type == f32 ? -149 : -1074, most = type == f32 ? 127 : 1023;
  for (int i = 0; i < count; ++i) {
    const double sign = random() % 2 ? 1 : -1;
    const int exponent = least + static_cast<int>(random() % (most - least + 1));
    result.push_back(sign * std::ldexp(mantissa(random), exponent));
    result.push_back(sign * std::ldexp(mantissa(random), static_cast<int>(random() % 24) - 12));
    result.push_back(inside(random));
  }
  for (double& value : result) value = type == f32 ? static_cast<float>(value) : value;
  return result;
}

std::string show(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{:a} ({}) ", value, value);
  return text;
}

class UnaryFunction : public ::testing::TestWithParam<Case> {};

TEST_P(UnaryFunction, IsWithinItsBound) {
  const Case& c = GetParam();
  for (const DataType type : {f32, f64}) {
    // A vector's expression, so that both scalars and vectors are covered.
    const Expr x = var("x", type.with_lanes(4));
    const Expr y = math::bind_shared(c.lower(x));
    ASSERT_EQ(y.dtype(), x.dtype());
    ScalarProgram program(y, {x});
    double worst = 0, at = 0;
    for (const double value : samples(type, c.low, c.high, 5000)) {
      const double error = error_in_ulp(type, program.run({value}), c.reference(value));
      if (error > worst) worst = error, at = value;
    }
    EXPECT_LE(worst, type == f32 ? c.bound_float : c.bound_double)
        << c.name << " of " << to_string(type) << " at " << show({at}) << "gave "
        << show({program.run({at})});
  }
}

INSTANTIATE_TEST_SUITE_P(Math, UnaryFunction, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

struct BinaryCase {
  const char* name;
  Expr (*lower)(const Expr&, const Expr&);
  Real (*reference)(Real, Real);
  double bound_float;
  double bound_double;
};

const BinaryCase binary_cases[] = {
    {"pow", math::lower_pow, std::pow, 0.6, 1.5},
    {"atan2", math::lower_atan2, std::atan2, 2.5, 2.5},
    {"hypot", math::lower_hypot, std::hypot, 0.6, 1},
    {"fmod", math::lower_fmod, std::fmod, 0, 0},
};

class BinaryFunction : public ::testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryFunction, IsWithinItsBound) {
  const BinaryCase& c = GetParam();
  for (const DataType type : {f32, f64}) {
    const Expr x = var("x", type), y = var("y", type);
    ScalarProgram program(math::bind_shared(c.lower(x, y)), {x, y});
    std::vector<std::vector<double>> inputs;
    const std::vector<double> numbers = samples(type, -20, 20, 2000);
    const std::size_t specials = std::size(special) - (type == f32 ? 3 : 0);
    for (std::size_t i = 0; i < specials; ++i) {
      for (std::size_t j = 0; j < specials; ++j) inputs.push_back({numbers[i], numbers[j]});
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      inputs.push_back({numbers[i], numbers[numbers.size() - 1 - i * 7 % numbers.size()]});
      inputs.push_back({std::abs(numbers[i]), numbers[i * 13 % numbers.size()]});
      inputs.push_back({numbers[i], std::trunc(numbers[i * 11 % numbers.size()])});
    }
    double worst = 0;
    std::vector<double> at = {0, 0};
    for (const std::vector<double>& input : inputs) {
      const double error = error_in_ulp(type, program.run(input), c.reference(input[0], input[1]));
      if (error > worst) worst = error, at = input;
    }
    EXPECT_LE(worst, type == f32 ? c.bound_float : c.bound_double)
        << c.name << " of " << to_string(type) << " at " << show(at) << "gave "
        << show({program.run(at)});
  }
}

INSTANTIATE_TEST_SUITE_P(Math, BinaryFunction, ::testing::ValuesIn(binary_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Math, NextafterIsTheNeighbour) {
  const Expr x = var("x", f32), y = var("y", f32);
  ScalarProgram program(math::bind_shared(math::lower_nextafter(x, y)), {x, y});
  for (const double a : samples(f32, -2, 2, 200)) {
    for (const double b : samples(f32, -2, 2, 10)) {
      const double want = std::nextafter(static_cast<float>(a), static_cast<float>(b));
      EXPECT_EQ(error_in_ulp(f32, program.run({a, b}), want), 0) << show({a, b});
    }
  }
  const Expr u = var("u", f64), v = var("v", f64);
  ScalarProgram wide(math::bind_shared(math::lower_nextafter(u, v)), {u, v});
  EXPECT_EQ(wide.run({1, 2}), 1 + 0x1p-52);
  EXPECT_EQ(wide.run({0, -1}), -0x1p-1074);
}

TEST(Math, LdexpRoundsOnce) {
  for (const DataType type : {f32, f64}) {
    const Expr x = var("x", type), n = var("n", i32);
    ScalarProgram program(math::bind_shared(math::lower_ldexp(x, n)), {x, n});
    std::vector<int> powers = {0, 1, -1, 2147483647, -2147483647};
    for (int power = -2200; power <= 2200; power += 7) powers.push_back(power);
    for (const double value : samples(type, -2, 2, 20)) {
      for (const int power : powers) {
        const double want =
            type == f32 ? std::ldexp(static_cast<float>(value), power) : std::ldexp(value, power);
        EXPECT_EQ(error_in_ulp(type, program.run({value, double(power)}), want), 0)
            << show({value, double(power)});
      }
    }
  }
}

TEST(Math, FastVariantsAreCloseAndShorter) {
  const struct {
    const char* name;
    Expr (*fast)(const Expr&);
    Expr (*exact)(const Expr&);
    Real (*reference)(Real);
    double low, high;
  } fast_cases[] = {
      {"exp", math::fast_exp, math::lower_exp, std::exp, -87, 88},
      {"sigmoid", math::fast_sigmoid, math::lower_sigmoid, sigmoid, -87, 87},
      {"log", math::fast_log, math::lower_log, std::log, 1e-30, 1e30},
      {"tanh", math::fast_tanh, math::lower_tanh, std::tanh, -10, 10},
      {"sin", math::fast_sin, math::lower_sin, std::sin, -0.8, 0.8},
      {"cos", math::fast_cos, math::lower_cos, std::cos, -0.8, 0.8},
  };
  for (const auto& c : fast_cases) {
    for (const DataType type : {f32, f64}) {
      const Expr x = var("x", type);
      ScalarProgram fast(math::bind_shared(c.fast(x)), {x}),
          exact(math::bind_shared(c.exact(x)), {x});
      if (c.exact != math::lower_exp) EXPECT_LT(fast.size(), exact.size()) << c.name;
      double worst = 0;
      for (int i = 0; i <= 20000; ++i) {
        double value = c.low + (c.high - c.low) * i / 20000;
        if (type == f32) value = static_cast<float>(value);
        worst = std::max(worst, error_in_ulp(type, fast.run({value}), c.reference(value)));
      }
      EXPECT_LE(worst, 8) << c.name << " of " << to_string(type);
    }
  }
  // Far from zero the error is absolute.
  const Expr x = var("x", f32);
  ScalarProgram sine(math::bind_shared(math::fast_sin(x)), {x});
  for (float value = -32000; value < 32000; value += 3.7F) {
    EXPECT_NEAR(sine.run({value}), std::sin(double(value)), 1e-7) << value;
  }
}

TEST(Math, SmallPowersAreProducts) {
  const Expr x = var("x", f32);
  EXPECT_TRUE(math::lower_pow(x, float_imm(f32, 2)).is<Mul>());
  EXPECT_TRUE(math::lower_pow(x, float_imm(f32, 1)).same_as(x));
  const Expr v = var("v", f32.with_lanes(8));
  EXPECT_TRUE(math::lower_pow(v, broadcast(float_imm(f32, 3), 8)).is<Mul>());
}

TEST(Math, SharedExpressionsAreBoundOnce) {
  const Expr x = var("x", f32);
  const Expr y = math::bind_shared(math::lower_exp(x));
  EXPECT_TRUE(y.is<Let>());
  std::unordered_map<Ref, int, RefHash, RefEqual> uses;
  post_order_visit(y, [&](const Ref& node) {
    for_each_child(*node.get(), [&](const Ref& child, Role) { ++uses[child]; });
  });
  for (const auto& [node, count] : uses) {
    if (node.is<Var>() || node.is<IntImm>() || node.is<FloatImm>()) continue;
    EXPECT_EQ(count, 1) << node_info(*node.get()).name;
  }
}

}  // namespace
}  // namespace loopsmith
