// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/testing/scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "loopsmith/codegen/llvm/types.h"

namespace loopsmith::testing {
namespace {

int stored_bits(DataType dtype) {
  if (dtype.is_bool()) return 8;
  return dtype.bits < 8 ? dtype.bits : dtype.bytes() * 8;
}

std::uint64_t encode(DataType dtype, const Number& number) {
  if (dtype.is_integer()) return static_cast<std::uint64_t>(number.integer);
  if (dtype.bits == 64) return std::bit_cast<std::uint64_t>(number.real);
  if (dtype.bits == 32) return std::bit_cast<std::uint32_t>(static_cast<float>(number.real));
  if (dtype.code == TypeCode::float_) {
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(number.real));
  }
  return loopsmith::detail::bits_of(dtype, number.real);
}

/// The value of a float8, from its fields.
double decode_float8(DataType dtype, std::uint64_t bits) {
  const bool is_e4m3 = dtype.code == TypeCode::float8_e4m3;
  const int mantissa_bits = is_e4m3 ? 3 : 2;
  const auto mantissa = static_cast<double>(bits & ((1U << mantissa_bits) - 1));
  const auto exponent = static_cast<int>((bits & 0x7f) >> mantissa_bits);
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if (is_e4m3 ? (bits & 0x7f) == 0x7f : exponent == 31 && mantissa != 0) return std::nan("");
  if (!is_e4m3 && exponent == 31) return sign * std::numeric_limits<double>::infinity();
  const int bias = is_e4m3 ? 7 : 15;
  const double unit = std::ldexp(1.0, std::max(exponent, 1) - bias - mantissa_bits);
  return sign * unit * (mantissa + (exponent > 0 ? 1 << mantissa_bits : 0));
}

Number decode(DataType dtype, std::uint64_t bits) {
  if (dtype.is_integer()) return {wrap_to(dtype, static_cast<std::int64_t>(bits)), 0};
  if (dtype.bits == 64) return {0, std::bit_cast<double>(bits)};
  const auto low = static_cast<std::uint32_t>(bits);
  if (dtype.bits == 32) return {0, std::bit_cast<float>(low)};
  if (dtype.is_bfloat16()) return {0, std::bit_cast<float>(low << 16)};
  if (dtype.code == TypeCode::float_) {
    return {0, static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)))};
  }
  return {0, decode_float8(dtype, bits)};
}

using Wide = __int128;

/// The value as a mathematical integer; a uint64 is stored by its bits.
Wide wide(DataType dtype, std::int64_t value) {
  return dtype.is_uint() ? Wide{static_cast<std::uint64_t>(value)} : Wide{value};
}

Number integer_reference(const std::string& name, DataType dtype, std::int64_t x, std::int64_t y) {
  const Wide a = wide(dtype, x);
  const Wide b = wide(dtype, y);
  const auto wrapped = [&](Wide value) {
    return Number{wrap_to(dtype, static_cast<std::int64_t>(value)), 0};
  };
  const auto floor_quotient = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
  const auto bits =
      static_cast<std::uint64_t>(x) & (dtype.bits == 64 ? ~0ULL : (1ULL << dtype.bits) - 1);
  if (name == "EQ") return {a == b};
  if (name == "NE") return {a != b};
  if (name == "LT") return {a < b};
  if (name == "LE") return {a <= b};
  if (name == "GT") return {a > b};
  if (name == "GE") return {a >= b};
  if (name == "Add") return wrapped(a + b);
  if (name == "Sub") return wrapped(a - b);
  if (name == "Mul")
    return wrapped(
        static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
  if (name == "Div") return wrapped(b == 0 ? 0 : a / b);
  if (name == "Mod") return wrapped(b == 0 ? 0 : a % b);
  if (name == "FloorDiv") return wrapped(b == 0 ? 0 : floor_quotient());
  if (name == "FloorMod") return wrapped(b == 0 ? 0 : a - floor_quotient() * b);
  if (name == "Min") return wrapped(std::min(a, b));
  if (name == "Max") return wrapped(std::max(a, b));
  if (name == "bitwise_and") return wrapped(a & b);
  if (name == "bitwise_or") return wrapped(a | b);
  if (name == "bitwise_xor") return wrapped(a ^ b);
  if (name == "bitwise_not") return wrapped(~a);
  if (name == "popcount") return wrapped(std::popcount(bits));
  if (name == "clz") return wrapped(std::countl_zero(bits) - (64 - dtype.bits));
  if (name == "fabs") return wrapped(a < 0 ? -a : a);
  const bool is_far = b < 0 || b >= dtype.bits;
  if (name == "shift_left")
    return wrapped(is_far ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << b));
  if (name == "shift_right") return wrapped(is_far ? (a < 0 ? -1 : 0) : a >> b);
  throw std::logic_error(name);
}

Number float_reference(const std::string& name, DataType dtype, double a, double b) {
  const auto rounded = [&](auto compute) {
    if (dtype.bits == 64) return Number{0, compute(a, b)};
    const float in_float32 = compute(static_cast<float>(a), static_cast<float>(b));
    return Number{0, round_to(dtype, in_float32)};
  };
  if (name == "EQ") return {a == b};
  if (name == "NE") return {a != b};
  if (name == "LT") return {a < b};
  if (name == "LE") return {a <= b};
  if (name == "GT") return {a > b};
  if (name == "GE") return {a >= b};
  if (name == "isnan") return {std::isnan(a)};
  if (name == "isinf") return {std::isinf(a)};
  if (name == "isfinite") return {std::isfinite(a)};
  if (name == "Add") return rounded([](auto x, auto y) { return x + y; });
  if (name == "Sub") return rounded([](auto x, auto y) { return x - y; });
  if (name == "Mul") return rounded([](auto x, auto y) { return x * y; });
  if (name == "Div") return rounded([](auto x, auto y) { return x / y; });
  if (name == "Min") return {0, std::isnan(a) || a < b ? a : b};
  if (name == "Max") return {0, std::isnan(a) || a > b ? a : b};
  if (name == "copysign") return {0, std::copysign(a, b)};
  if (name == "sqrt") return rounded([](auto x, auto) { return std::sqrt(x); });
  if (name == "fabs") return {0, std::fabs(a)};
  if (name == "floor") return rounded([](auto x, auto) { return std::floor(x); });
  if (name == "ceil") return rounded([](auto x, auto) { return std::ceil(x); });
  if (name == "trunc") return rounded([](auto x, auto) { return std::trunc(x); });
  if (name == "round") return rounded([](auto x, auto) { return std::round(x); });
  if (name == "nearbyint") return rounded([](auto x, auto) { return std::nearbyint(x); });
  throw std::logic_error(name);
}

}  // namespace

std::vector<std::uint8_t> to_memory(DataType dtype, const std::vector<Number>& numbers) {
  const int bits = stored_bits(dtype);
  std::vector<std::uint8_t> memory((numbers.size() * static_cast<std::size_t>(bits) + 7) / 8);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t code = encode(dtype, numbers[i]);
    for (int bit = 0; bit < bits; ++bit) {
      const std::size_t place = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
      memory[place / 8] |= static_cast<std::uint8_t>(((code >> bit) & 1) << (place % 8));
    }
  }
  return memory;
}

std::vector<Number> from_memory(DataType dtype, const std::vector<std::uint8_t>& memory,
                                std::size_t count) {
  const int bits = stored_bits(dtype);
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t code = 0;
    for (int bit = 0; bit < bits; ++bit) {
      const std::size_t place = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
      code |= std::uint64_t{(memory[place / 8] >> (place % 8)) & 1U} << bit;
    }
    numbers.push_back(decode(dtype, code));
  }
  return numbers;
}

std::vector<Number> interesting(DataType dtype) {
  std::vector<Number> numbers;
  if (dtype.is_integer()) {
    for (const std::int64_t value :
         {0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, -1, -2, -3, -7, -8}) {
      numbers.push_back({wrap_to(dtype, value), 0});
    }
    for (const std::int64_t value : {min_int(dtype), min_int(dtype) + 1, max_int(dtype)}) {
      numbers.push_back({wrap_to(dtype, value), 0});
    }
    // Where conversions to floats round.
    for (const std::int64_t value : {(1LL << 24) + 1, (1LL << 53) + 1, 2049LL, 16842753LL}) {
      numbers.push_back({wrap_to(dtype, value), 0});
    }
    return numbers;
  }
  const double most = max_float(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value :
       {0.0,       -0.0,         1.0,          -1.0,   0.5,     -0.5,     1.5,      2.5,
        -2.5,      3.7,          -3.7,         127.5,  255.9,   -128.9,   65535.9,  0.49999997,
        8388609.0, 2147483647.0, 4294967296.0, 9.3e18, -9.3e18, 1e-8,     6e-8,     -3e-5,
        1e-3,      1e-40,        1.00390626,   447.0,  464.0,   465.0,    57344.0,  61440.0,
        65519.0,   65520.0,      1e300,        most,   -most,   infinity, -infinity}) {
    numbers.push_back({0, round_to(dtype, value)});
  }
  numbers.push_back({0, std::nan("")});
  return numbers;
}

bool same(DataType dtype, const Number& a, const Number& b) {
  if (dtype.is_integer()) return a.integer == b.integer;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

std::string to_string(DataType dtype, const Number& number) {
  return dtype.is_integer() ? fmt::format("{}", number.integer) : fmt::format("{}", number.real);
}

Number reference(const std::string& name, DataType dtype, const Number& a, const Number& b) {
  return dtype.is_integer() ? integer_reference(name, dtype, a.integer, b.integer)
                            : float_reference(name, dtype, a.real, b.real);
}

Number reference_cast(DataType from, DataType to, const Number& value) {
  if (from.is_integer()) {
    if (to.is_bool()) return {value.integer != 0, 0};
    if (to.is_integer()) return {wrap_to(to, value.integer), 0};
    if (to.bits == 32) {  // Rounded once.
      return {0, from == u64 ? static_cast<float>(static_cast<std::uint64_t>(value.integer))
                             : static_cast<float>(value.integer)};
    }
    const double exact = from == u64
                             ? static_cast<double>(static_cast<std::uint64_t>(value.integer))
                             : static_cast<double>(value.integer);
    return {0, round_to(to, exact)};
  }
  if (to.is_bool()) return {value.real != 0, 0};
  if (!to.is_integer()) return {0, round_to(to, value.real)};
  if (std::isnan(value.real)) return {0, 0};
  const double truncated = std::trunc(value.real);
  const double above = std::ldexp(1.0, to.is_uint() ? to.bits : to.bits - 1);
  const double below = to.is_uint() ? 0 : -above;
  if (truncated <= below) return {min_int(to), 0};
  if (truncated >= above) return {to == u64 ? -1 : max_int(to), 0};
  return {to == u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(truncated))
                    : static_cast<std::int64_t>(truncated),
          0};
}

}  // namespace loopsmith::testing
