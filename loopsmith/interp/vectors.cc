// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/vectors.h"

#include <algorithm>
#include <vector>

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

DataType regrouped_from(const Instr& at) {
  return {static_cast<TypeCode>(at.b), static_cast<std::uint8_t>(at.number), 1};
}

/// The bits of one lane, and no others.
std::uint64_t lane_bits(DataType type, Word value) {
  return encode(type, value) << (64 - type.bits) >> (64 - type.bits);
}

/// The lowest bits come first.
const Instr* regroup(const Instr* at, Word* r, Machine&) {
  const DataType from = regrouped_from(*at), to = at->type.element();
  std::vector<Word> made;
  for (int l = 0; l < at->type.lanes; ++l) {
    std::uint64_t bits = 0;
    if (from.bits < to.bits) {
      const int parts = to.bits / from.bits;
      for (int part = 0; part < parts; ++part) {
        bits |= lane_bits(from, r[at->a + (l * parts + part) * at->sa]) << part * from.bits;
      }
    } else {
      const int parts = from.bits / to.bits;
      bits = lane_bits(from, r[at->a + l / parts * at->sa]) >> l % parts * to.bits;
    }
    made.push_back(decode(to, bits));
  }
  std::copy(made.begin(), made.end(), r + at->d);
  return at + 1;
}
/// The field knows no bits.
const Instr* regroup_hashes(const Instr* at, Word* r, Machine& machine) {
  const DataType from = regrouped_from(*at);
  const int count = at->type.lanes * at->type.bits / from.bits;
  std::uint64_t all = 0;
  for (int l = 0; l < count; ++l) {
    all = ring::hash(machine.seed(), "reinterpret", {all, r[at->a + l * at->sa].u});
  }
  for (int l = 0; l < at->type.lanes; ++l) {
    const std::uint64_t hash =
        ring::hash(machine.seed(), "lane", {all, static_cast<std::uint64_t>(l)});
    const auto number = static_cast<std::int64_t>(hash);
    r[at->d + l].i = at->type.is_integer() ? wrapped(number, *at) : number;
  }
  return at + 1;
}

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
Handler regroup_handler(DataType from, DataType to, const Options& options) {
  const bool has_bits = options.mode != Mode::ring || (from.is_integer() && to.is_integer());
  return has_bits ? regroup : regroup_hashes;
}
Handler active_lanes_handler() {
  return active_lanes;
}
Handler move_pointer_handler() {
  return move_pointer;
}

}  // namespace loopsmith::interp
