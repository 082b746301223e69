// SPDX-License-Identifier: Apache-2.0
// What operations make of values. Private to the floor.
#pragma once
#include <cmath>
#include <initializer_list>
#include <span>
#include <string_view>

#include "loopsmith/ir/fold.h"
#include "loopsmith/judge/judge.h"

namespace loopsmith::judge {

using Wide = __int128;
using Bits = std::uint64_t;
inline constexpr std::int64_t prime = (std::int64_t{1} << 61) - 1;

/// 64 bits that depend on all of `parts` and the name.
inline Bits hash_of(std::string_view name, std::initializer_list<std::int64_t> parts) {
  Bits state = 1;
  const auto mix = [&](Bits part) {
    state = (state ^ part) + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  };
  for (const char letter : name) mix(static_cast<unsigned char>(letter));
  for (const std::int64_t part : parts) mix(static_cast<Bits>(part));
  return state;
}

/// Any number as an element of the field.
inline std::int64_t field_element(Wide number) {
  const auto rest = static_cast<std::int64_t>(number % prime);
  return rest < 0 ? rest + prime : rest;
}

inline std::int64_t inverse(std::int64_t a) {
  Wide result = 1;
  for (std::int64_t exponent = prime - 2; exponent != 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result * a % prime;
    a = field_element(Wide{a} * a);
  }
  return field_element(result);
}

/// The number that a value of either sign is; of an element, that in the order from
/// -(prime - 1) / 2.
inline Wide whole(DataType type, Scalar value) {
  if (type.is_float()) return value.bits > prime / 2 ? value.bits - prime : value.bits;
  return type.is_uint() ? Wide{static_cast<Bits>(value.bits)} : Wide{value.bits};
}

/// A number modulo 2^bits of an integer type, or in the field.
inline Scalar value_in(DataType type, Wide number) {
  if (type.is_float()) return {field_element(number)};
  return {wrap_to(type, static_cast<std::int64_t>(number))};
}

inline Scalar constant(DataType type, double value) {
  if (std::isnan(value)) return {field_element(hash_of("nan", {}))};
  const double size = std::fabs(value);
  // The ends of the order, where minima and maxima start.
  Wide number = prime / 2;
  if (size < max_float(type)) {
    int exponent = 0;
    number = static_cast<Wide>(std::ldexp(std::frexp(size, &exponent), 53));
    // 2^61 is 1 in the field.
    number <<= ((exponent - 53) % 61 + 61) % 61;
  }
  return {field_element(value < 0 ? -number : number)};
}

/// What the binary node of kind `kind` gives for two values of type `type`; for a division by zero
/// of integers, 0. Notes where signed numbers of 32 bits and more overflow.
inline Scalar binary(std::uint16_t kind, DataType type, Scalar a, Scalar b, bool& overflows) {
  if (a.is_poison || b.is_poison) return {.is_poison = true};
  if (type.is_float() && detail::is_division(kind)) {
    if (kind != kind_of<Div>)
      return {field_element(hash_of(node_info(kind).name, {a.bits, b.bits}))};
    if (b.bits == 0) return {field_element(hash_of("division by zero", {a.bits}))};
    return {field_element(Wide{a.bits} * inverse(b.bits))};
  }
  const Wide result = detail::whole_result(kind, whole(type, a), whole(type, b));
  const Scalar value = value_in(kind < kind_of<EQ> ? type : boolean, result);
  overflows |= type.is_int() && type.bits >= 32 && value.bits != result;
  return value;
}

inline Scalar converted(DataType from, DataType to, Scalar value) {
  if (value.is_poison || from == to) return value;
  if (to.is_bool()) return {value.bits != 0};
  const Wide number = whole(from, value), most = 1 << 24;
  const bool is_small = -most <= number && number <= most;
  if (!from.is_float() || to.is_float() || is_small) return value_in(to, number);
  return value_in(to, hash_of("to an integer", {value.bits}) >> 1);
}

/// What an intrinsic that depends on nothing but its operands, all of type `type`, gives.
inline Scalar intrinsic(Op which, DataType type, DataType result,
                        std::span<const Scalar> operands) {
  Bits hash = hash_of(which.name(), {result.bits, static_cast<std::int64_t>(result.code)});
  for (const Scalar& operand : operands) {
    if (operand.is_poison) return operand;
    hash = hash_of("operand", {static_cast<std::int64_t>(hash), operand.bits});
  }
  if (type.is_integer() && result.is_integer()) {
    const Wide a = whole(type, operands[0]), b = whole(type, operands.back());
    const int shift = b < 0 || b >= type.bits ? -1 : static_cast<int>(b);
    switch (which.index()) {
      case op("bitwise_and").index(): return value_in(result, a & b);
      case op("bitwise_or").index(): return value_in(result, a | b);
      case op("bitwise_xor").index(): return value_in(result, a ^ b);
      case op("bitwise_not").index(): return value_in(result, ~a);
      case op("fabs").index(): return value_in(result, a < 0 ? -a : a);
      case op("shift_left").index(): return value_in(result, shift < 0 ? 0 : a << shift);
      case op("shift_right").index(): return value_in(result, a >> (shift < 0 ? 64 : shift));
      default: break;
    }
  }
  return value_in(result, hash >> (result.is_float() ? 0 : 1));
}

}  // namespace loopsmith::judge
