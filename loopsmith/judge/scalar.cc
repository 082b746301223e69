// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/judge/scalar.h"

#include <bit>
#include <cmath>
#include <limits>

namespace loopsmith::judge {
namespace {

using Signed = std::int64_t;
using Unsigned = std::uint64_t;
using Wide = __int128;

constexpr Unsigned prime = (Unsigned{1} << 61) - 1;

Unsigned product(Unsigned a, Unsigned b) {
  return static_cast<Unsigned>(static_cast<unsigned __int128>(a) * b % prime);
}

Unsigned negated(Unsigned a) {
  return a == 0 ? 0 : prime - a;
}

Unsigned inverse(Unsigned a) {
  Unsigned result = 1;
  for (Unsigned exponent = prime - 2; exponent != 0; exponent /= 2) {
    if (exponent % 2 == 1) result = product(result, a);
    a = product(a, a);
  }
  return result;
}

/// Where an element of the field stands in the order: from -(prime - 1) / 2.
Signed ordered(Unsigned a) {
  return a > prime / 2 ? static_cast<Signed>(a) - static_cast<Signed>(prime)
                       : static_cast<Signed>(a);
}

Unsigned mixed(Unsigned x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The value of an integer, of whichever sign.
Wide whole(DataType type, Scalar value) {
  return type.is_uint() ? Wide{value.field()} : Wide{value.bits};
}

/// A number modulo 2^bits of an integer type.
Signed wrapped(DataType type, Wide value) {
  const auto low = static_cast<Unsigned>(value);
  if (type.bits == 64) return static_cast<Signed>(low);
  const Unsigned kept = low & ((Unsigned{1} << type.bits) - 1);
  const bool is_negative = type.is_int() && (kept >> (type.bits - 1)) != 0;
  return static_cast<Signed>(is_negative ? kept - (Unsigned{1} << type.bits) : kept);
}

/// By zero, 0.
Wide quotient(Wide a, Wide b, bool rounds_down) {
  if (b == 0) return 0;
  const bool is_above = rounds_down && a % b != 0 && (a < 0) != (b < 0);
  return a / b - (is_above ? 1 : 0);
}
Wide remainder(Wide a, Wide b, bool rounds_down) {
  return b == 0 ? 0 : a - b * quotient(a, b, rounds_down);
}

Signed of_integers(std::uint16_t kind, DataType type, Wide a, Wide b);

Signed of_field(std::uint16_t kind, Unsigned a, Unsigned b) {
  switch (kind) {
    case kind_of<Add>: return static_cast<Signed>((a + b) % prime);
    case kind_of<Sub>: return static_cast<Signed>((a + negated(b)) % prime);
    case kind_of<Mul>: return static_cast<Signed>(product(a, b));
    case kind_of<Div>:
      return static_cast<Signed>(b == 0 ? reduced(hash_of("division by zero", {a}))
                                        : product(a, inverse(b)));
    case kind_of<Min>: return static_cast<Signed>(ordered(a) < ordered(b) ? a : b);
    case kind_of<Max>: return static_cast<Signed>(ordered(a) > ordered(b) ? a : b);
    case kind_of<Mod>:
    case kind_of<FloorDiv>:
    case kind_of<FloorMod>:
      return static_cast<Signed>(reduced(hash_of(node_info(kind).name, {a, b})));
    default: return of_integers(kind, i64, ordered(a), ordered(b));
  }
}

Signed of_integers(std::uint16_t kind, DataType type, Wide a, Wide b) {
  switch (kind) {
    case kind_of<Add>: return wrapped(type, a + b);
    case kind_of<Sub>: return wrapped(type, a - b);
    case kind_of<Mul>: {
      // The product of two's complements is right in its low bits.
      const Unsigned low = static_cast<Unsigned>(a) * static_cast<Unsigned>(b);
      return wrapped(type, low);
    }
    case kind_of<Div>: return wrapped(type, quotient(a, b, false));
    case kind_of<Mod>: return wrapped(type, remainder(a, b, false));
    case kind_of<FloorDiv>: return wrapped(type, quotient(a, b, true));
    case kind_of<FloorMod>: return wrapped(type, remainder(a, b, true));
    case kind_of<Min>: return wrapped(type, a < b ? a : b);
    case kind_of<Max>: return wrapped(type, a > b ? a : b);
    case kind_of<EQ>: return a == b;
    case kind_of<NE>: return a != b;
    case kind_of<LT>: return a < b;
    case kind_of<LE>: return a <= b;
    case kind_of<GT>: return a > b;
    case kind_of<GE>: return a >= b;
    case kind_of<And>: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

Wide shifted(Op which, DataType type, Wide value, Wide count) {
  const bool is_beyond = count < 0 || count >= type.bits;
  if (which == op("shift_left")) return is_beyond ? 0 : value << static_cast<int>(count);
  return value >> static_cast<int>(is_beyond ? 64 : count);
}

}  // namespace

std::uint64_t hash_of(std::string_view name, std::initializer_list<std::uint64_t> parts) {
  Unsigned state = 1;
  for (const char letter : name) state = mixed(state ^ static_cast<unsigned char>(letter));
  for (const Unsigned part : parts) state = mixed(state ^ part);
  return state;
}

std::uint64_t reduced(std::uint64_t value) {
  return value % prime;
}

Scalar constant(DataType type, double value) {
  if (std::isnan(value)) return {static_cast<Signed>(reduced(hash_of("nan", {})))};
  const double size = std::fabs(value);
  Unsigned element = 0;
  if (std::isinf(value) || size >= max_float(type)) {
    // The ends of the order, where minima and maxima start.
    element = prime / 2;
  } else {
    int exponent = 0;
    const auto mantissa = static_cast<Unsigned>(std::ldexp(std::frexp(size, &exponent), 53));
    // 2^61 is 1 in the field.
    const int power = ((exponent - 53) % 61 + 61) % 61;
    element = product(mantissa % prime, Unsigned{1} << power);
  }
  return {static_cast<Signed>(value < 0 ? negated(element) : element)};
}

Scalar binary(std::uint16_t kind, DataType type, Scalar a, Scalar b) {
  if (a.is_poison || b.is_poison) {
    const Unsigned hash = hash_of(node_info(kind).name, {a.field(), b.field()});
    return {static_cast<Signed>(hash), true};
  }
  if (type.is_float()) return {of_field(kind, a.field(), b.field())};
  return {of_integers(kind, type, whole(type, a), whole(type, b))};
}

Scalar converted(DataType from, DataType to, Scalar value) {
  if (value.is_poison || from == to) return value;
  if (to.is_bool()) return {value.bits != 0};
  if (from.is_float() && to.is_float()) return value;
  if (from.is_float()) {
    // Small whole numbers are themselves; a hash stands for any other.
    const Unsigned element = value.field();
    const Unsigned most = Unsigned{1} << 24;
    if (element <= most) return {wrapped(to, Wide{element})};
    if (prime - element <= most) return {wrapped(to, -Wide{prime - element})};
    return {wrapped(to, Wide{hash_of("to an integer", {value.field()}) >> 1})};
  }
  const Wide number = whole(from, value);
  if (!to.is_float()) return {wrapped(to, number)};
  const Unsigned element = static_cast<Unsigned>((number < 0 ? -number : number) % Wide{prime});
  return {static_cast<Signed>(number < 0 ? negated(element) : element)};
}

Scalar intrinsic(Op which, DataType type, DataType result, const Scalar* operands,
                 std::size_t count) {
  Unsigned hash = hash_of(which.name(), {result.bits, static_cast<Unsigned>(result.code)});
  bool is_poison = false;
  for (std::size_t i = 0; i < count; ++i) {
    hash = hash_of("operand", {hash, operands[i].field()});
    is_poison = is_poison || operands[i].is_poison;
  }
  if (is_poison) return {static_cast<Signed>(hash), true};
  if (type.is_integer() && result.is_integer()) {
    const Wide a = whole(type, operands[0]);
    const Wide b = count > 1 ? whole(type, operands[1]) : 0;
    if (which == op("bitwise_and")) return {wrapped(type, a & b)};
    if (which == op("bitwise_or")) return {wrapped(type, a | b)};
    if (which == op("bitwise_xor")) return {wrapped(type, a ^ b)};
    if (which == op("bitwise_not")) return {wrapped(type, type.is_bool() ? Wide{a == 0} : ~a)};
    if (which == op("fabs")) return {wrapped(type, a < 0 ? -a : a)};
    if (which == op("shift_left") || which == op("shift_right")) {
      return {wrapped(type, shifted(which, type, a, b))};
    }
  }
  if (result.is_float()) return {static_cast<Signed>(reduced(hash))};
  return {wrapped(result, Wide{hash >> 1})};
}

}  // namespace loopsmith::judge
