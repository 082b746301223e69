// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/arith.h"

#include <algorithm>
#include <cmath>

#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {

void report_overflow(const Instr& at, Machine& machine, const char* operation, Word a, Word b) {
  machine.fail(&at, "integer_overflow", hint("use a wider type, or run with overflow=\"wrap\""),
               "{} {} {} overflows {}", a.i, operation, b.i, to_string(at.type.element()));
}

void report_zero_division(const Instr& at, Machine& machine) {
  machine.fail(&at, "division_by_zero", hint("guard the division by a condition"),
               "an integer is divided by zero");
}

namespace {

// --- Integers: the result of a 64-bit operation, and whether that overflowed. ---

struct IntAdd {
  static constexpr const char* sign = "+";
  static bool apply(std::int64_t a, std::int64_t b, std::int64_t& result) {
    return __builtin_add_overflow(a, b, &result);
  }
};
struct IntSub {
  static constexpr const char* sign = "-";
  static bool apply(std::int64_t a, std::int64_t b, std::int64_t& result) {
    return __builtin_sub_overflow(a, b, &result);
  }
};
struct IntMul {
  static constexpr const char* sign = "*";
  static bool apply(std::int64_t a, std::int64_t b, std::int64_t& result) {
    return __builtin_mul_overflow(a, b, &result);
  }
};

template <class F>
struct Checked {
  static Word apply(Word a, Word b, const Instr& at, Machine& machine) {
    std::int64_t result;
    const bool overflows = F::apply(a.i, b.i, result);
    if (overflows || wrapped(result, at) != result) [[unlikely]] {
      report_overflow(at, machine, F::sign, a, b);
    }
    return {.i = result};
  }
};
template <class F>
struct Wrapping {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    std::int64_t result;
    F::apply(a.i, b.i, result);
    return {.i = wrapped(result, at)};
  }
};

enum class Quotient { trunc, trunc_rest, floor, floor_rest };

template <Quotient what>
struct IntDivide {
  static Word apply(Word a, Word b, const Instr& at, Machine& machine) {
    if (b.i == 0) [[unlikely]] {
      if (!machine.options().zero_division) report_zero_division(at, machine);
      return {.i = 0};
    }
    if (at.type.is_uint()) {
      const bool is_rest = what == Quotient::trunc_rest || what == Quotient::floor_rest;
      return {.u = is_rest ? a.u % b.u : a.u / b.u};
    }
    if (b.i == -1) {
      // The smallest value has no opposite.
      if (what == Quotient::trunc_rest || what == Quotient::floor_rest) return {.i = 0};
      const std::int64_t opposite = wrapped(static_cast<std::int64_t>(-a.u), at);
      if (opposite == a.i && a.i != 0 && is_checked(at.type, machine.options())) {
        report_overflow(at, machine, "/", a, b);
      }
      return {.i = opposite};
    }
    const std::int64_t quotient = a.i / b.i, rest = a.i % b.i;
    const bool is_below = rest != 0 && (rest < 0) != (b.i < 0);
    switch (what) {
      case Quotient::trunc: return {.i = quotient};
      case Quotient::trunc_rest: return {.i = rest};
      case Quotient::floor: return {.i = quotient - is_below};
      default: return {.i = is_below ? rest + b.i : rest};
    }
  }
};

template <bool is_max>
struct IntExtreme {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    const bool less = at.type.is_uint() ? a.u < b.u : a.i < b.i;
    return less != is_max ? a : b;
  }
};

// --- Floating-point numbers. ---

struct RealAdd {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct RealSub {
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct RealMul {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct RealDiv {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};

template <class F, class As>
struct Real {
  static Word apply(Word a, Word b, const Instr& at, Machine&) {
    using Compute = typename As::Compute;
    return {.f = As::round(F::apply(static_cast<Compute>(a.f), static_cast<Compute>(b.f)), at)};
  }
};

struct RealMin {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return std::isnan(a.f) || a.f < b.f ? a : b;
  }
};
struct RealMax {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return std::isnan(a.f) || a.f > b.f ? a : b;
  }
};

template <class F>
Handler real_handler(DataType type) {
  return by_precision(type,
                      [&]<class As>(As) -> Handler { return binary_of<Real<F, As>>(type.lanes); });
}

// --- Elements of the field. ---

struct RingAdd {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.u = ring::add(a.u, b.u)}; }
};
struct RingSub {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return {.u = ring::subtract(a.u, b.u)};
  }
};
struct RingMul {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return {.u = ring::multiply(a.u, b.u)};
  }
};
struct RingDiv {
  static Word apply(Word a, Word b, const Instr&, Machine& machine) {
    if (b.u == 0) return {.u = ring::hash(machine.seed(), "divide", {a.u})};
    return {.u = ring::multiply(a.u, ring::inverse(b.u))};
  }
};
template <bool is_max>
struct RingExtreme {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return (ring::ordered(a.u) < ring::ordered(b.u)) != is_max ? a : b;
  }
};

// --- Comparisons. ---

struct AsSigned {
  static std::int64_t value(Word w) { return w.i; }
};
struct AsUnsigned {
  static std::uint64_t value(Word w) { return w.u; }
};
struct AsReal {
  static double value(Word w) { return w.f; }
};
struct AsRing {
  static std::int64_t value(Word w) { return ring::ordered(w.u); }
};

template <class As, class F>
struct Compare {
  static Word apply(Word a, Word b, const Instr&, Machine&) {
    return {.i = F()(As::value(a), As::value(b))};
  }
};

template <class As>
Handler comparison_of(std::uint16_t kind, int lanes) {
  switch (kind) {
    case kind_of<EQ>: return binary_of<Compare<As, std::equal_to<>>>(lanes);
    case kind_of<NE>: return binary_of<Compare<As, std::not_equal_to<>>>(lanes);
    case kind_of<LT>: return binary_of<Compare<As, std::less<>>>(lanes);
    case kind_of<LE>: return binary_of<Compare<As, std::less_equal<>>>(lanes);
    case kind_of<GT>: return binary_of<Compare<As, std::greater<>>>(lanes);
    case kind_of<GE>: return binary_of<Compare<As, std::greater_equal<>>>(lanes);
    default: return nullptr;
  }
}

struct LogicAnd {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.i = a.i & b.i}; }
};
struct LogicOr {
  static Word apply(Word a, Word b, const Instr&, Machine&) { return {.i = a.i | b.i}; }
};
struct LogicNot {
  static Word apply(Word a, const Instr&, Machine&) { return {.i = a.i == 0}; }
};

Handler integer_handler(std::uint16_t kind, DataType type, const Options& options) {
  const int lanes = type.lanes;
  const auto arithmetic = [&]<class F>(F) -> Handler {
    return is_checked(type, options) ? binary_of<Checked<F>>(lanes) : binary_of<Wrapping<F>>(lanes);
  };
  switch (kind) {
    case kind_of<Add>: return arithmetic(IntAdd());
    case kind_of<Sub>: return arithmetic(IntSub());
    case kind_of<Mul>: return arithmetic(IntMul());
    case kind_of<Div>: return binary_of<IntDivide<Quotient::trunc>>(lanes);
    case kind_of<Mod>: return binary_of<IntDivide<Quotient::trunc_rest>>(lanes);
    case kind_of<FloorDiv>: return binary_of<IntDivide<Quotient::floor>>(lanes);
    case kind_of<FloorMod>: return binary_of<IntDivide<Quotient::floor_rest>>(lanes);
    case kind_of<Min>: return binary_of<IntExtreme<false>>(lanes);
    case kind_of<Max>: return binary_of<IntExtreme<true>>(lanes);
    case kind_of<And>: return binary_of<LogicAnd>(lanes);
    case kind_of<Or>: return binary_of<LogicOr>(lanes);
    default:
      return type.is_uint() ? comparison_of<AsUnsigned>(kind, lanes)
                            : comparison_of<AsSigned>(kind, lanes);
  }
}

Handler ring_handler(std::uint16_t kind, int lanes) {
  switch (kind) {
    case kind_of<Add>: return binary_of<RingAdd>(lanes);
    case kind_of<Sub>: return binary_of<RingSub>(lanes);
    case kind_of<Mul>: return binary_of<RingMul>(lanes);
    case kind_of<Div>: return binary_of<RingDiv>(lanes);
    case kind_of<Min>: return binary_of<RingExtreme<false>>(lanes);
    case kind_of<Max>: return binary_of<RingExtreme<true>>(lanes);
    default: return comparison_of<AsRing>(kind, lanes);
  }
}

}  // namespace

Handler binary_handler(std::uint16_t kind, DataType operand, const Options& options) {
  const int lanes = operand.lanes;
  if (operand.is_integer()) return integer_handler(kind, operand, options);
  if (!operand.is_float()) return nullptr;
  if (options.mode == Mode::ring) return ring_handler(kind, lanes);
  switch (kind) {
    case kind_of<Add>: return real_handler<RealAdd>(operand);
    case kind_of<Sub>: return real_handler<RealSub>(operand);
    case kind_of<Mul>: return real_handler<RealMul>(operand);
    case kind_of<Div>: return real_handler<RealDiv>(operand);
    case kind_of<Min>: return binary_of<RealMin>(lanes);
    case kind_of<Max>: return binary_of<RealMax>(lanes);
    default: return comparison_of<AsReal>(kind, lanes);
  }
}

Handler not_handler(DataType type) {
  return unary_of<LogicNot>(type.lanes);
}

namespace {

struct Choose {
  static Word apply(Word condition, Word yes, Word no, const Instr&, Machine&) {
    return condition.i ? yes : no;
  }
};

template <bool checked>
const Instr* ramp(const Instr* at, Word* r, Machine& machine) {
  // The operands may lie where the result goes.
  const Word base = r[at->a], stride = r[at->b];
  for (int l = 0; l < at->type.lanes; ++l) {
    const __int128 value = base.i + static_cast<__int128>(l) * stride.i;
    const std::int64_t low = wrapped(static_cast<std::int64_t>(value), *at);
    if (checked && low != value) [[unlikely]] {
      report_overflow(*at, machine, "+", base, {.i = l * stride.i});
    }
    r[at->d + l] = {.i = low};
  }
  return at + 1;
}

struct Copy {
  static Word apply(Word a, const Instr&, Machine&) { return a; }
};

}  // namespace

Handler select_handler(DataType) {
  return ternary_lanes<Choose>;
}

Handler ramp_handler(DataType type, const Options& options) {
  return is_checked(type, options) ? ramp<true> : ramp<false>;
}

Handler copy_handler(int lanes) {
  return unary_of<Copy>(lanes);
}

}  // namespace loopsmith::interp
