// SPDX-License-Identifier: Apache-2.0
// Conversions, as in docs/semantics.md.
#include <cmath>

#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"

namespace loopsmith::interp {
namespace {

struct IntToBool {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = a.i != 0}; }
};
struct RealToBool {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = a.f != 0}; }
};
struct IntToInt {
  static Word apply(Word a, const Instr& at, Machine&) { return {.i = wrapped(a.i, at)}; }
};

template <bool is_unsigned>
struct IntToReal {
  static Word apply(Word a, const Instr& at, Machine&) {
    if (at.type.bits == 32) {  // Rounded once.
      return {.f = is_unsigned ? static_cast<float>(a.u) : static_cast<float>(a.i)};
    }
    return {.f = round_to(at.type.element(),
                          is_unsigned ? static_cast<double>(a.u) : static_cast<double>(a.i))};
  }
};

struct RealToReal {
  static Word apply(Word a, const Instr& at, Machine&) {
    return {.f = round_to(at.type.element(), a.f)};
  }
};

struct RealToInt {
  static Word apply(Word a, const Instr& at, Machine&) {
    if (std::isnan(a.f)) return {.i = 0};
    const DataType type = at.type;
    const double whole = std::trunc(a.f);
    const double above = std::ldexp(1.0, type.is_uint() ? type.bits : type.bits - 1);
    if (whole >= above) {
      return {.i = type.is_uint() && type.bits == 64 ? -1 : max_int(type.element())};
    }
    if (whole <= (type.is_uint() ? 0.0 : -above)) return {.i = min_int(type.element())};
    if (type.is_uint()) return {.u = static_cast<std::uint64_t>(whole)};
    return {.i = static_cast<std::int64_t>(whole)};
  }
};

struct IntToRing {
  static Word apply(Word a, const Instr&, Machine&) { return {.u = ring::from_int(a.i)}; }
};
struct UnsignedToRing {
  static Word apply(Word a, const Instr&, Machine&) { return {.u = ring::reduce(a.u)}; }
};
/// Small whole numbers are themselves: what is padded with zeros stays so. What stands for another
/// number, or for a fraction, becomes a hash.
struct RingToInt {
  static constexpr std::int64_t most = std::int64_t{1} << 24;
  static Word apply(Word a, const Instr& at, Machine& machine) {
    const std::int64_t value = ring::ordered(a.u);
    if (-most <= value && value <= most) return {.i = wrapped(value, at)};
    const std::uint64_t hash = ring::hash(machine.seed(), "cast", {a.u});
    return {.i = wrapped(static_cast<std::int64_t>(hash), at)};
  }
};

}  // namespace

Handler cast_handler(DataType from, DataType to, const Options& options) {
  const int lanes = to.lanes;
  const bool is_ring = options.mode == Mode::ring;
  if (from.is_float() && to.is_float()) {
    return is_ring || to.bits == 64 ? copy_handler(lanes) : unary_of<RealToReal>(lanes);
  }
  if (from.is_float() && to.is_integer()) {
    // In the field, 0 is 0 alone.
    if (to.is_bool()) return is_ring ? unary_of<IntToBool>(lanes) : unary_of<RealToBool>(lanes);
    return is_ring ? unary_of<RingToInt>(lanes) : unary_of<RealToInt>(lanes);
  }
  if (from.is_integer() && to.is_float()) {
    const bool is_unsigned = from.is_uint();
    if (is_ring) return is_unsigned ? unary_of<UnsignedToRing>(lanes) : unary_of<IntToRing>(lanes);
    return is_unsigned ? unary_of<IntToReal<true>>(lanes) : unary_of<IntToReal<false>>(lanes);
  }
  if (from.is_integer() && to.is_bool()) return unary_of<IntToBool>(lanes);
  if (from.is_integer() && to.is_integer()) return unary_of<IntToInt>(lanes);
  return nullptr;
}

}  // namespace loopsmith::interp
