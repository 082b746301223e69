// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "loopsmith/interp/interleaving.h"
#include "loopsmith/interp/zeroed.h"
#include "loopsmith/ir/data_type.h"

namespace loopsmith::interp {

struct Memory;

/// One lane of a value: an integer, a double that is representable in its type, an element of the
/// field, or half of a pointer (the memory, then the offset in bits).
union Word {
  std::int64_t i;
  std::uint64_t u;
  double f;
  Memory* memory;
};
static_assert(sizeof(Word) == 8);

/// How many bits an element takes in memory: bool a byte, narrow types their own, others bytes.
constexpr int stored_bits(DataType element) {
  if (element.is_bool()) return 8;
  return element.bits < 8 ? element.bits : element.bytes() * 8;
}

/// The last accesses to an element, for the detection of races: the number of a strand (an
/// iteration of a parallel loop, from one barrier to the next) and of the access in the program; 0:
/// none.
struct LastAccesses {
  std::uint64_t write = 0;
  std::uint64_t read = 0;
  /// Of threads of a block: another one's read, of another warp if there is one.
  std::uint64_t other_read = 0;
  /// When, of lanes in step.
  Turn write_turn, read_turn;
  /// The first strand of a loop of which several iterations wrote it, each for itself; 0: none.
  std::uint64_t mixed = 0;
};

/// Memory that pointers lead to, in granules: the elements of the narrowest type that it was
/// accessed as.
struct Memory {
  /// Marks in `written`: the number of granules of the value that starts here, or one of these.
  static constexpr std::uint8_t never_written = 0;
  static constexpr std::uint8_t goes_on = 255;

  std::string name;
  std::byte* bytes = nullptr;
  /// The bits of a granule. In ring mode each granule takes 64 bits all the same.
  int granule_bits = 8;
  std::int64_t granules = 0;
  bool is_ring = false;
  /// What `granule_bits` must be for the plain way to it; 0: it is never plain.
  int plain_bits = 8;
  /// Read-only: a constant, or an array that was lent for reading.
  bool is_read_only = false;
  /// Each thread of a block has a copy of its own, or each warp: all threads along x.
  bool is_per_thread = false, is_per_warp = false;
  /// Allocated by a block: lowering moves it to where it is used, so that iterations which read
  /// only what they wrote have memory of their own.
  bool may_be_private = false;
  /// The same of loops over blocks of threads.
  bool may_be_of_blocks = false;
  /// The strand that allocated it: what happened before has not accessed it.
  std::uint64_t birth = 0;

  Zeroed<std::uint64_t> storage;       ///< What `bytes` leads to, if it is our own.
  Zeroed<std::uint8_t> written;        ///< For each granule; empty: all of them.
  Zeroed<LastAccesses> last_accesses;  ///< For each granule; empty: none.
  std::unordered_map<std::int64_t, std::unique_ptr<Memory>> copies;  ///< By thread or warp.

  /// Fresh memory never written.
  void allocate(std::string_view for_whom, DataType element, std::int64_t count, bool ring);
  /// Cuts granules so small that elements of `bits` are made of whole ones.
  void cut_granules(int bits);
  /// The bytes that it takes here.
  std::int64_t size_bytes() const;
  /// The copy of a thread or a warp, made at its first access.
  Memory& copy_of(std::int64_t owner);
};

/// Reads and writes the element at `place`, counted in elements of `type`.
Word load_element(const std::byte* bytes, DataType type, std::int64_t place);
void store_element(std::byte* bytes, DataType type, std::int64_t place, Word value);

/// A number as its bits in memory, and back.
std::uint64_t encode(DataType type, Word value);
Word decode(DataType type, std::uint64_t bits);

}  // namespace loopsmith::interp
