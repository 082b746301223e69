// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loopsmith {

/// What the bits of a scalar mean.
enum class TypeCode : std::uint8_t {
  int_,         ///< Signed, two's complement: 1 to 64 bits.
  uint,         ///< Unsigned: 1 to 64 bits; of 1 bit: bool.
  float_,       ///< IEEE 754: 16, 32, 64 bits.
  bfloat,       ///< The upper half of a float32.
  float8_e4m3,  ///< Finite only (e4m3fn): 448 is the largest.
  float8_e5m2,  ///< IEEE-like, with infinities.
  handle,       ///< A pointer, 64 bits; of 0 bits: void.
};

/// The bit of `DataType::lanes` that says that the rest of it counts multiples of `vscale`, a
/// number that only the machine knows: float32xvscalex4.
inline constexpr std::uint16_t scalable_lanes = 0x8000;

/// The type of a value: a scalar, or a vector of `lanes` scalars.
struct DataType {
  TypeCode code = TypeCode::handle;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;

  bool operator==(const DataType&) const = default;

  constexpr bool is_bool() const { return code == TypeCode::uint && bits == 1; }
  constexpr bool is_int() const { return code == TypeCode::int_; }
  constexpr bool is_uint() const { return code == TypeCode::uint; }
  /// A signed or unsigned integer, bool too.
  constexpr bool is_integer() const { return is_int() || is_uint(); }
  /// Any floating-point type.
  constexpr bool is_float() const {
    return code == TypeCode::float_ || code == TypeCode::bfloat || is_float8();
  }
  constexpr bool is_bfloat16() const { return code == TypeCode::bfloat; }
  constexpr bool is_float8() const {
    return code == TypeCode::float8_e4m3 || code == TypeCode::float8_e5m2;
  }
  constexpr bool is_handle() const { return code == TypeCode::handle && bits != 0; }
  constexpr bool is_void() const { return code == TypeCode::handle && bits == 0; }
  constexpr bool is_scalar() const { return lanes == 1; }
  constexpr bool is_vector() const { return lanes > 1; }
  /// A vector of as many lanes as a multiple of `vscale`: lowering gives it its length.
  constexpr bool is_scalable() const { return (lanes & scalable_lanes) != 0; }
  /// Integers whose overflow is a mistake, so that they simplify as if unbounded: int32 and wider.
  constexpr bool is_index() const { return is_int() && bits >= 32; }

  constexpr DataType element() const { return {code, bits, 1}; }
  constexpr DataType with_lanes(int n) const { return {code, bits, static_cast<std::uint16_t>(n)}; }
  constexpr DataType with_bits(int n) const { return {code, static_cast<std::uint8_t>(n), lanes}; }
  /// Bytes that one value takes in memory; types below 8 bits are packed.
  constexpr int bytes() const { return (bits * lanes + 7) / 8; }
};

inline constexpr DataType boolean{TypeCode::uint, 1, 1};
inline constexpr DataType i8{TypeCode::int_, 8, 1}, i16{TypeCode::int_, 16, 1},
    i32{TypeCode::int_, 32, 1}, i64{TypeCode::int_, 64, 1};
inline constexpr DataType u8{TypeCode::uint, 8, 1}, u16{TypeCode::uint, 16, 1},
    u32{TypeCode::uint, 32, 1}, u64{TypeCode::uint, 64, 1};
inline constexpr DataType f16{TypeCode::float_, 16, 1}, f32{TypeCode::float_, 32, 1},
    f64{TypeCode::float_, 64, 1}, bf16{TypeCode::bfloat, 16, 1};
inline constexpr DataType f8e4m3{TypeCode::float8_e4m3, 8, 1}, f8e5m2{TypeCode::float8_e5m2, 8, 1};
inline constexpr DataType handle_type{TypeCode::handle, 64, 1}, void_type{TypeCode::handle, 0, 1};

/// `int32`, `float32x4`, `float32xvscalex4`, `bool`, `bfloat16`, `e4m3_float8`, `handle`, `void`.
std::string to_string(DataType type);

/// The type that `text` names, in any spelling of the field (`float32x4`, `bool`, `uint1`,
/// `float8_e4m3`, ...). Throws a TypeMismatch error for anything else.
DataType parse_data_type(std::string_view text);

/// The smallest and largest value of an integer type of at most 64 bits, as int64 (the largest
/// uint64 is given as INT64_MAX).
std::int64_t min_int(DataType type);
std::int64_t max_int(DataType type);

/// The largest finite value of a floating-point type.
double max_float(DataType type);

/// `value` rounded to `type`, to nearest even; e4m3 saturates. float64 and wider: as it is.
double round_to(DataType type, double value);

/// `value` reduced modulo 2^bits to the range of an integer type, as two's complement.
std::int64_t wrap_to(DataType type, std::int64_t value);

}  // namespace loopsmith
