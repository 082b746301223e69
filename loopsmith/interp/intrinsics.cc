// SPDX-License-Identifier: Apache-2.0
// Intrinsics that work lane by lane.
#include <bit>
#include <cmath>

#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/ir/math_functions.h"

namespace loopsmith::interp {
namespace {

// --- Bits. ---

struct BitAnd {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.u = a.u & b.u}; }
};
struct BitOr {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.u = a.u | b.u}; }
};
struct BitXor {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.u = a.u ^ b.u}; }
};
struct BitNot {
  static Word apply(Word a, const Instr& at, Machine&) {
    return {.i = wrapped(static_cast<std::int64_t>(~a.u), at)};
  }
};
/// A shift by the width or more, or a negative one, leaves 0 or the sign.
struct ShiftLeft {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    if (b.u >= at.type.bits) return {.i = 0};
    return {.i = wrapped(static_cast<std::int64_t>(a.u << b.u), at)};
  }
};
struct ShiftRight {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    if (at.type.is_uint()) return {.u = b.u >= at.type.bits ? 0 : a.u >> b.u};
    return {.i = a.i >> (b.u >= at.type.bits ? 63 : b.u)};
  }
};

/// The bits of a value of the operand's type, whose width `b` is.
std::uint64_t own_bits(Word a, const Instr& at) {
  return a.u << (64 - at.b) >> (64 - at.b);
}
struct CountOnes {
  static Word apply(Word a, const Instr& at, Machine&) {
    return {.i = wrapped(std::popcount(own_bits(a, at)), at)};
  }
};
struct CountLeadingZeros {
  static Word apply(Word a, const Instr& at, Machine&) {
    return {.i = wrapped(std::countl_zero(own_bits(a, at)) - (64 - at.b), at)};
  }
};

struct IntAbs {
  static Word apply(Word a, const Instr& at, Machine& machine) {
    const std::int64_t result = wrapped(a.i < 0 ? static_cast<std::int64_t>(-a.u) : a.i, at);
    if (result < 0 && is_checked(at.type, machine.options())) {
      report_overflow(at, machine, "*", a, {.i = -1});
    }
    return {.i = result};
  }
};

// --- Mathematics. ---

template <class As>
struct Function1 {
  static Word apply(Word a, const Instr& at, Machine&) {
    return {.f = As::round(static_cast<typename As::Compute>(at.function(a.f)), at)};
  }
};
template <class As>
struct Function2 {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    return {.f = As::round(static_cast<typename As::Compute>(at.function2(a.f, b.f)), at)};
  }
};
template <class As>
struct FusedMultiplyAdd {
  static Word apply(Word a, Word b, Word c, const Instr& at, Machine&) {
    using T = typename As::Compute;
    return {.f = As::round(std::fma(static_cast<T>(a.f), static_cast<T>(b.f), static_cast<T>(c.f)),
                           at)};
  }
};

/// The next number of the type.
struct NextAfter {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    if (at.type.bits == 64) return {.f = std::nextafter(a.f, b.f)};
    if (at.type.bits == 32) {
      return {.f = std::nextafter(static_cast<float>(a.f), static_cast<float>(b.f))};
    }
    if (std::isnan(a.f) || std::isnan(b.f)) return {.f = std::nan("")};
    if (a.f == b.f) return b;
    const DataType type = at.type.element();
    const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1);
    if (a.f == 0) return decode(type, b.f < 0 ? sign | 1 : 1);
    const bool away = (a.f < b.f) == (a.f > 0);
    return decode(type, encode(type, a) + (away ? 1 : -std::uint64_t{1}));
  }
};

struct IsNan {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = std::isnan(a.f)}; }
};
struct IsInf {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = std::isinf(a.f)}; }
};
struct IsFinite {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = std::isfinite(a.f)}; }
};
template <bool value>
struct Constant {
  static Word apply(Word, const Instr&, Machine&) { return {.i = value}; }
};

// --- The field: what is no sum or product is a hash. `number` is the operation's index. ---

std::string_view name_of(const Instr& at) {
  return Op(static_cast<std::uint16_t>(at.number)).name();
}
struct RingHash1 {
  static Word apply(Word a, const Instr& at, Machine& machine) {
    return {.u = ring::hash(machine.seed(), name_of(at), {a.u})};
  }
};
struct RingHash2 {
  static Word apply(Word a, Word b, const Instr& at, Machine& machine) {
    return {.u = ring::hash(machine.seed(), name_of(at), {a.u, b.u})};
  }
};
struct RingFma {
  static Word apply(Word a, Word b, Word c, const Instr&, Machine&) {
    return {.u = ring::add(ring::multiply(a.u, b.u), c.u)};
  }
};

Handler classification(Op op, DataType operand, bool is_ring) {
  const int lanes = operand.lanes;
  if (operand.is_integer() || is_ring) {
    return op == loopsmith::op("isfinite") ? unary_of<Constant<true>>(lanes)
                                           : unary_of<Constant<false>>(lanes);
  }
  if (op == loopsmith::op("isnan")) return unary_of<IsNan>(lanes);
  return op == loopsmith::op("isinf") ? unary_of<IsInf>(lanes) : unary_of<IsFinite>(lanes);
}

Handler bits_handler(Op op, int lanes) {
  switch (op.index()) {
    case loopsmith::op("bitwise_and").index(): return binary_of<BitAnd>(lanes);
    case loopsmith::op("bitwise_or").index(): return binary_of<BitOr>(lanes);
    case loopsmith::op("bitwise_xor").index(): return binary_of<BitXor>(lanes);
    case loopsmith::op("bitwise_not").index(): return unary_of<BitNot>(lanes);
    case loopsmith::op("shift_left").index(): return binary_of<ShiftLeft>(lanes);
    case loopsmith::op("shift_right").index(): return binary_of<ShiftRight>(lanes);
    case loopsmith::op("popcount").index(): return unary_of<CountOnes>(lanes);
    case loopsmith::op("clz").index(): return unary_of<CountLeadingZeros>(lanes);
    default: return nullptr;
  }
}

/// Operations on integers that round or measure.
Handler integer_function(Op op, DataType type) {
  if (op == loopsmith::op("fabs")) {
    return type.is_int() ? unary_of<IntAbs>(type.lanes) : copy_handler(type.lanes);
  }
  const MathFunction* function = find_math_function(op);
  const bool rounds = function && function->operands == Operands::numbers && function->of_one;
  return rounds ? copy_handler(type.lanes) : nullptr;
}

Intrinsic ring_intrinsic(Op op, int lanes) {
  if (op == loopsmith::op("fma")) return {ternary_lanes<RingFma>};
  const MathFunction* function = find_math_function(op);
  if (function && function->of_one) return {unary_of<RingHash1>(lanes)};
  if ((function && function->of_two) || op == loopsmith::op("nextafter")) {
    return {binary_of<RingHash2>(lanes)};
  }
  return {};
}

}  // namespace

Intrinsic intrinsic(Op op, DataType operand, DataType result, const Options& options) {
  const int lanes = result.lanes;
  const bool is_ring = options.mode == Mode::ring;
  if (op == loopsmith::op("isnan") || op == loopsmith::op("isinf") ||
      op == loopsmith::op("isfinite")) {
    return {classification(op, operand, is_ring)};
  }
  if (operand.is_integer()) {
    if (const Handler handler = bits_handler(op, lanes)) return {handler};
    if (const Handler handler = integer_function(op, operand)) return {handler};
    return {};
  }
  if (!operand.is_float()) return {};
  if (is_ring) return ring_intrinsic(op, lanes);
  if (op == loopsmith::op("fma")) {
    return {by_precision(
        result, []<class As>(As) -> Handler { return ternary_lanes<FusedMultiplyAdd<As>>; })};
  }
  if (op == loopsmith::op("nextafter")) return {binary_of<NextAfter>(lanes)};
  const MathFunction* function = find_math_function(op);
  if (function && function->of_one) {
    return {by_precision(result,
                         [&]<class As>(As) -> Handler { return unary_of<Function1<As>>(lanes); }),
            function->of_one};
  }
  if (function && function->of_two) {
    return {by_precision(result,
                         [&]<class As>(As) -> Handler { return binary_of<Function2<As>>(lanes); }),
            nullptr, function->of_two};
  }
  return {};
}

}  // namespace loopsmith::interp
