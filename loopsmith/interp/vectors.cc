// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/vectors.h"

#include "loopsmith/interp/lanes.h"
#include "loopsmith/interp/ring.h"

namespace loopsmith::interp {
namespace {

struct SameBits {
  static Word apply(Word a, const Instr& at, Machine&) {
    const DataType from{static_cast<TypeCode>(at.b), at.type.bits, 1};
    return decode(at.type.element(), encode(from, a));
  }
};
/// The field knows no bits.
struct HashedBits {
  static Word apply(Word a, const Instr& at, Machine& machine) {
    const DataType from{static_cast<TypeCode>(at.b), at.type.bits, 1};
    if (from.is_integer() && at.type.is_integer()) return {.i = wrapped(a.i, at)};
    const std::uint64_t hash = ring::hash(machine.seed(), "reinterpret", {a.u});
    return {.i = at.type.is_integer() ? wrapped(static_cast<std::int64_t>(hash), at)
                                      : static_cast<std::int64_t>(hash)};
  }
};

const Instr* active_lanes(const Instr* at, Word* r, Machine&) {
  const std::int64_t base = r[at->a].i, limit = r[at->b].i;
  for (int l = 0; l < at->type.lanes; ++l) r[at->d + l].i = base + l < limit;
  return at + 1;
}

const Instr* move_pointer(const Instr* at, Word* r, Machine&) {
  r[at->d] = r[at->a];
  r[at->d + 1].i = r[at->a + 1].i + r[at->b].i * at->number;
  return at + 1;
}

}  // namespace

Handler reinterpret_handler(const Options& options) {
  return options.mode == Mode::ring ? unary_lanes<HashedBits> : unary_lanes<SameBits>;
}
Handler active_lanes_handler() {
  return active_lanes;
}
Handler move_pointer_handler() {
  return move_pointer;
}

}  // namespace loopsmith::interp
