// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/data_type.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::refusal;

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(data_type, names_go_back_and_forth) {
  for (const char* name :
       {"int8",       "int32",     "int64",       "int1",        "int4",
        "uint8",      "uint64",    "bool",        "float16",     "float32",
        "float64",    "bfloat16",  "e4m3_float8", "e5m2_float8", "handle",
        "void",       "float32x4", "boolx16",     "int8x32767",  "float32xvscalex4",
        "bfloat16x2", "uint7"}) {
    EXPECT_EQ(to_string(parse_data_type(name)), name);
  }
  EXPECT_EQ(parse_data_type("uint1"), boolean);
  EXPECT_EQ(parse_data_type("boolean"), boolean);
  EXPECT_EQ(parse_data_type("float8_e4m3"), f8e4m3);
  EXPECT_EQ(parse_data_type("float8_e4m3fn"), f8e4m3);
  EXPECT_EQ(parse_data_type("float8_e5m2x4"), f8e5m2.with_lanes(4));
}

TEST(data_type, what_names_no_type_is_refused) {
  for (const char* text :
       {"", "flaot32", "int", "int0", "int65", "float8", "float31", "float128", "float32x",
        "float32x0", "float32x65536", "float32x4 ", " int32", "int-8", "float32x-4", "x4", "i32"}) {
    EXPECT_EQ(refusal([&] { parse_data_type(text); }),
              fmt::format("unknown_data_type: '{}' is not a data type", text));
  }
}

TEST(data_type, limits_of_integers) {
  EXPECT_EQ(min_int(i8), -128);
  EXPECT_EQ(max_int(i8), 127);
  EXPECT_EQ(min_int(u8), 0);
  EXPECT_EQ(max_int(u8), 255);
  EXPECT_EQ(max_int(boolean), 1);
  EXPECT_EQ(min_int(i64), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(max_int(i64), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(max_int(u64), std::numeric_limits<std::int64_t>::max());
}

TEST(data_type, wraps_as_twos_complement) {
  EXPECT_EQ(wrap_to(i8, 128), -128);
  EXPECT_EQ(wrap_to(i8, -129), 127);
  EXPECT_EQ(wrap_to(u8, -1), 255);
  EXPECT_EQ(wrap_to(u8, 256), 0);
  EXPECT_EQ(wrap_to(boolean, 2), 0);
  EXPECT_EQ(wrap_to(i64, -5), -5);
  for (int value = -300; value < 300; ++value) {
    EXPECT_EQ(wrap_to(i8, value), static_cast<std::int8_t>(value));
    EXPECT_EQ(wrap_to(u8, value), static_cast<std::uint8_t>(value));
  }
}

/// All finite values of a small format, from its bits.
std::vector<double> values_of(DataType type) {
  struct Format {
    int exponent_bits, mantissa_bits, bias;
    bool has_infinity;
  };
  const Format f = type == f8e4m3   ? Format{4, 3, 7, false}
                   : type == f8e5m2 ? Format{5, 2, 15, true}
                   : type == f16    ? Format{5, 10, 15, true}
                                    : Format{8, 7, 127, true};
  std::vector<double> values;
  const int top = (1 << f.exponent_bits) - 1;
  for (int exponent = 0; exponent <= top; ++exponent) {
    for (int mantissa = 0; mantissa < (1 << f.mantissa_bits); ++mantissa) {
      if (exponent == top && (f.has_infinity || mantissa == (1 << f.mantissa_bits) - 1)) continue;
      const double fraction = std::ldexp(mantissa, -f.mantissa_bits) + (exponent ? 1 : 0);
      values.push_back(std::ldexp(fraction, (exponent ? exponent : 1) - f.bias));
    }
  }
  return values;
}

/// The nearest of `values`, which are sorted and not negative; of two, the one with even bits.
double nearest(const std::vector<double>& values, double x) {
  const auto above = std::ranges::lower_bound(values, x);
  if (above == values.begin()) return *above;
  if (above == values.end()) return values.back();
  const auto below = std::prev(above);
  const double to_below = x - *below, to_above = *above - x;
  if (to_below != to_above) return to_below < to_above ? *below : *above;
  return (below - values.begin()) % 2 == 0 ? *below : *above;
}

class Rounding : public ::testing::TestWithParam<DataType> {};

TEST_P(Rounding, is_to_nearest_even_for_all_values_and_what_lies_between) {
  const DataType type = GetParam();
  const std::vector<double> values = values_of(type);
  ASSERT_EQ(values.back(), max_float(type));
  std::mt19937 random(7);
  std::uniform_real_distribution<double> part(0, 1);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double low = values[i], high = values[i + 1];
    for (const double x : {low, (low + high) / 2, low + (high - low) * part(random)}) {
      EXPECT_EQ(round_to(type, x), nearest(values, x)) << x;
      EXPECT_EQ(round_to(type, -x), -nearest(values, x)) << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(data_type, Rounding, ::testing::Values(f8e4m3, f8e5m2, f16, bf16));

TEST(data_type, rounding_at_the_ends) {
  EXPECT_EQ(round_to(f16, 65519), 65504);
  EXPECT_EQ(round_to(f16, 65520), infinite);
  EXPECT_EQ(round_to(f8e5m2, 61439), 57344);
  EXPECT_EQ(round_to(f8e5m2, 61440), infinite);
  EXPECT_EQ(round_to(bf16, -4e38), -infinite);
  // e4m3 has no infinity: it saturates.
  EXPECT_EQ(round_to(f8e4m3, 1e9), 448);
  EXPECT_EQ(round_to(f8e4m3, -infinite), -448);
  EXPECT_TRUE(std::isnan(round_to(f8e4m3, std::nan(""))));
  EXPECT_EQ(round_to(f16, infinite), infinite);
  EXPECT_EQ(round_to(f32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(round_to(f64, 0.1), 0.1);
  EXPECT_TRUE(std::signbit(round_to(f16, -0.0)));
  EXPECT_EQ(round_to(f16, 5.9604644775390625e-08), 5.9604644775390625e-08);
  EXPECT_EQ(round_to(f16, 2.98e-08), 0);
}

}  // namespace
}  // namespace loopsmith
