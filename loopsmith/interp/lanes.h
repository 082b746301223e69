// SPDX-License-Identifier: Apache-2.0
// How a function on words becomes the handler of an instruction, for one lane or many.
#pragma once
#include "loopsmith/interp/machine.h"

namespace loopsmith::interp {

/// d = F(a), for each lane.
template <class F>
const Instr* unary_lanes(const Instr* at, Word* r, Machine& machine) {
  for (int l = 0; l < at->type.lanes; ++l) {
    r[at->d + l] = F::apply(r[at->a + l * at->sa], *at, machine);
  }
  return at + 1;
}
template <class F>
const Instr* unary_lane(const Instr* at, Word* r, Machine& machine) {
  r[at->d] = F::apply(r[at->a], *at, machine);
  return at + 1;
}
template <class F>
Handler unary_of(int lanes) {
  return lanes == 1 ? unary_lane<F> : unary_lanes<F>;
}

/// d = F(a, b), for each lane.
template <class F>
const Instr* binary_lanes(const Instr* at, Word* r, Machine& machine) {
  for (int l = 0; l < at->type.lanes; ++l) {
    r[at->d + l] = F::apply(r[at->a + l * at->sa], r[at->b + l * at->sb], *at, machine);
  }
  return at + 1;
}
template <class F>
const Instr* binary_lane(const Instr* at, Word* r, Machine& machine) {
  r[at->d] = F::apply(r[at->a], r[at->b], *at, machine);
  return at + 1;
}
template <class F>
Handler binary_of(int lanes) {
  return lanes == 1 ? binary_lane<F> : binary_lanes<F>;
}

/// d = F(a, b, c), for each lane.
template <class F>
const Instr* ternary_lanes(const Instr* at, Word* r, Machine& machine) {
  for (int l = 0; l < at->type.lanes; ++l) {
    r[at->d + l] =
        F::apply(r[at->a + l * at->sa], r[at->b + l * at->sb], r[at->c + l * at->sc], *at, machine);
  }
  return at + 1;
}

/// `value` as an integer of the instruction's type, modulo 2^bits.
inline std::int64_t wrapped(std::int64_t value, const Instr& at) {
  const auto shifted = static_cast<std::uint64_t>(value) << at.unused;
  return at.type.is_int() ? static_cast<std::int64_t>(shifted) >> at.unused
                          : static_cast<std::int64_t>(shifted >> at.unused);
}

[[noreturn]] void report_overflow(const Instr& at, Machine& machine, const char* operation, Word a,
                                  Word b);
[[noreturn]] void report_zero_division(const Instr& at, Machine& machine);

/// A float64: computed as it is.
struct AsFloat64 {
  using Compute = double;
  static double round(double value, const Instr&) { return value; }
};
struct AsFloat32 {
  using Compute = float;
  static double round(float value, const Instr&) { return value; }
};
/// A narrow type: computed in float32, then rounded.
struct AsNarrow {
  using Compute = float;
  static double round(float value, const Instr& at) { return round_to(at.type.element(), value); }
};

/// Calls `choose` with AsFloat64, AsFloat32 or AsNarrow, whichever computes values of `type`.
template <class Choose>
Handler by_precision(DataType type, Choose&& choose) {
  if (type.bits == 64) return choose(AsFloat64());
  return type.bits == 32 ? choose(AsFloat32()) : choose(AsNarrow());
}

}  // namespace loopsmith::interp
