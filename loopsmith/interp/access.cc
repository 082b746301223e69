// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/access.h"

#include <algorithm>
#include <cstring>

#include "loopsmith/interp/machine.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void report_bounds(const Access& access, std::size_t d,
                                                          std::int64_t index, const Word* r,
                                                          Machine& machine) {
  machine.fail_at(access.span, "index_in_bounds",
                  hint("check the extents of the loops around the access"),
                  fmt::format("{} {}: index {} of dimension {} is outside [0, {})",
                              access.is_store ? "store to" : "load of", access.buffer->name, index,
                              d, r[access.dims[d].extent].i));
}

[[noreturn, gnu::cold, gnu::noinline]] void report_outside(const Access& access, std::int64_t place,
                                                           const Memory& memory, Machine& machine) {
  machine.fail_at(access.span, "address_in_memory",
                  hint("compare the strides and the offset of the buffer with what was allocated"),
                  fmt::format("{} {}: element {} lies outside its memory of {} elements",
                              access.is_store ? "store to" : "load of", access.buffer->name, place,
                              memory.granules * memory.granule_bits / access.element_bits));
}

[[noreturn, gnu::cold, gnu::noinline]] void report_unwritten(const Access& access,
                                                             std::int64_t place, const Word* r,
                                                             Machine& machine) {
  std::string indices;
  for (const Dimension& dim : access.dims) {
    indices += fmt::format("{}{}", indices.empty() ? "" : ", ", r[dim.index].i);
  }
  if (access.index_lanes > 1) indices = fmt::format("{} in memory", place);
  machine.fail_at(
      access.span, "element_was_written", hint("write the element first, or initialise the buffer"),
      fmt::format("load of {}: element [{}] was never written", access.buffer->name, indices));
}

/// Where lane `lane` of an access lies, in elements from the pointer.
inline std::int64_t place_of(const Access& access, int lane, const Word* r, Machine& machine) {
  std::int64_t place = access.offset == no_register ? 0 : r[access.offset].i;
  std::int64_t compact = 0;
  const std::size_t rank = access.dims.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const Dimension& dim = access.dims[d];
    const Register reg = d + 1 == rank ? dim.index + lane * access.index_stride : dim.index;
    const std::int64_t index = r[reg].i, extent = r[dim.extent].i;
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(extent)) [[unlikely]] {
      report_bounds(access, d, index, r, machine);
    }
    if (dim.stride == no_register) {
      compact = compact * extent + index;
    } else {
      place += index * r[dim.stride].i;
    }
  }
  return place + compact;
}

/// The same for a compact buffer of `rank` dimensions that starts at its pointer.
template <int rank>
inline std::int64_t compact_place(const Access& access, const Word* r, Machine& machine) {
  const Dimension* dims = access.dims.data();
  std::int64_t place = 0;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t index = r[dims[d].index].i, extent = r[dims[d].extent].i;
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(extent)) [[unlikely]] {
      report_bounds(access, static_cast<std::size_t>(d), index, r, machine);
    }
    place = d == 0 ? index : place * extent + index;
  }
  return place;
}

/// Where an element is: `parts` granules from `granule` on.
struct Place {
  std::int64_t granule;
  std::int64_t parts;
};

/// Memory that is not plain: a thread's own copy, granules of another size, not from its start.
[[gnu::noinline]] Place find_granules(Memory*& memory, const Access& access, std::int64_t place,
                                      std::int64_t offset_bits, Machine& machine) {
  memory = &machine.seen(*memory);
  if (access.is_store && memory->is_read_only) {
    machine.fail_at(access.span, "memory_is_writable", hint("pass an array that may be written"),
                    fmt::format("store to {}: its memory is read-only", access.buffer->name));
  }
  const std::int64_t bits = place * access.element_bits + offset_bits;
  if (bits % access.element_bits != 0) {
    machine.fail_at(access.span, "address_is_aligned",
                    hint("start the buffer at a multiple of its elements' size"),
                    fmt::format("{} {}: it starts {} bits into an element",
                                access.is_store ? "store to" : "load of", access.buffer->name,
                                bits % access.element_bits));
  }
  memory->cut_granules(access.element_bits);
  const Place found{bits / memory->granule_bits, access.element_bits / memory->granule_bits};
  if (found.granule >= 0 && found.granule < memory->granules) {
    machine.check_mixed(*memory, found.granule, access);
  }
  return found;
}

/// The granules of an element, checked to be in memory.
inline Place granules_of(Memory*& memory, const Access& access, std::int64_t place, const Word* r,
                         Machine& machine) {
  const std::int64_t offset_bits = r[access.data + 1].i;
  Place found{place, 1};
  if (memory->plain_bits != access.element_bits || offset_bits != 0) [[unlikely]] {
    found = find_granules(memory, access, place, offset_bits, machine);
  }
  if (found.granule < 0 || found.granule + found.parts > memory->granules) [[unlikely]] {
    report_outside(access, place, *memory, machine);
  }
  return found;
}

/// Whether all granules of an element were written; in ring mode, as one value.
[[gnu::noinline]] bool was_written(const Memory& memory, Place place) {
  for (std::int64_t p = 0; p < place.parts; ++p) {
    const std::uint8_t mark = memory.written[static_cast<std::size_t>(place.granule + p)];
    if (mark == Memory::never_written) return false;
    if (memory.is_ring && mark != (p == 0 ? place.parts : Memory::goes_on)) return false;
  }
  return true;
}

/// `keeps_value`: it stores what is there.
[[gnu::noinline]] void note_all(Memory& memory, Place place, const Access& access, const Word* r,
                                Machine& machine, bool keeps_value = false) {
  for (std::int64_t p = 0; p < place.parts; ++p) {
    machine.note_access(memory, place.granule + p, access, r, keeps_value);
  }
}

inline void mark_written(Memory& memory, Place place, bool is_written) {
  std::uint8_t* marks = memory.written.data() + place.granule;
  marks[0] = is_written ? static_cast<std::uint8_t>(place.parts) : Memory::never_written;
  for (std::int64_t p = 1; p < place.parts; ++p) {
    marks[p] = is_written ? Memory::goes_on : Memory::never_written;
  }
}

// --- How a lane is read and written. ---

template <class T>
struct IntCell {
  static Word load(const std::byte* bytes, const Access&, std::int64_t granule) {
    T value;
    std::memcpy(&value, bytes + granule * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    if constexpr (std::is_signed_v<T>) {
      return {.i = value};
    } else {
      return {.u = value};
    }
  }
  static void store(std::byte* bytes, const Access&, std::int64_t granule, Word word) {
    const T value = static_cast<T>(word.u);
    std::memcpy(bytes + granule * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
};
template <class T>
struct RealCell {
  static Word load(const std::byte* bytes, const Access&, std::int64_t granule) {
    T value;
    std::memcpy(&value, bytes + granule * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return {.f = value};
  }
  static void store(std::byte* bytes, const Access&, std::int64_t granule, Word word) {
    const T value = static_cast<T>(word.f);
    std::memcpy(bytes + granule * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
};
/// Any type.
struct AnyCell {
  static Word load(const std::byte* bytes, const Access& access, std::int64_t granule) {
    return load_element(bytes, access.element, granule);
  }
  static void store(std::byte* bytes, const Access& access, std::int64_t granule, Word word) {
    store_element(bytes, access.element, granule, word);
  }
};

/// The cell of an element: typed ones count elements, those of the field granules.
inline std::int64_t cell_of(const Memory& memory, Place place) {
  return place.parts == 1 || memory.is_ring ? place.granule : place.granule / place.parts;
}

template <class Cell>
inline Word load_lane(const Access& access, std::int64_t index, const Word* r, Machine& machine) {
  Memory* memory = r[access.data].memory;
  const Place place = granules_of(memory, access, index, r, machine);
  const bool is_plainly_written =
      memory->written.empty() ||
      (place.parts == 1 && memory->written[static_cast<std::size_t>(place.granule)] == 1);
  if (!is_plainly_written && !was_written(*memory, place)) [[unlikely]] {
    report_unwritten(access, index, r, machine);
  }
  if (machine.searches_races()) note_all(*memory, place, access, r, machine);
  return Cell::load(memory->bytes, access, cell_of(*memory, place));
}

template <class Cell>
inline void store_lane(const Access& access, std::int64_t index, Word value, const Word* r,
                       Machine& machine) {
  Memory* memory = r[access.data].memory;
  const Place place = granules_of(memory, access, index, r, machine);
  if (machine.searches_races()) {
    const bool is_there =
        access.is_shared && !memory->written.empty() && was_written(*memory, place);
    const bool keeps_value =
        is_there && Cell::load(memory->bytes, access, cell_of(*memory, place)).u == value.u;
    note_all(*memory, place, access, r, machine, keeps_value);
  }
  if (!memory->written.empty()) mark_written(*memory, place, true);
  Cell::store(memory->bytes, access, cell_of(*memory, place), value);
}

// --- Instructions. ---

inline bool is_masked_out(const Access& access, int lane, const Word* r) {
  return access.mask.reg != no_register && r[access.mask.reg + lane * access.mask.stride].i == 0;
}

/// The place of an access of one lane; `rank` of a compact buffer, -1: of any.
template <int rank>
inline std::int64_t one_place(const Access& access, const Word* r, Machine& machine) {
  if constexpr (rank < 0) {
    return place_of(access, 0, r, machine);
  } else {
    return compact_place<rank>(access, r, machine);
  }
}

template <class Cell, int rank>
const Instr* load_one(const Instr* at, Word* r, Machine& machine) {
  const Access& access = *at->access;
  r[at->d] = load_lane<Cell>(access, one_place<rank>(access, r, machine), r, machine);
  return at + 1;
}

template <class Cell>
const Instr* load_many(const Instr* at, Word* r, Machine& machine) {
  const Access& access = *at->access;
  for (int l = 0; l < access.index_lanes; ++l) {
    Word* result = r + at->d + l * access.group;
    if (is_masked_out(access, l, r)) {
      // Undefined; 0 is what compiled code gives.
      std::memset(result, 0, sizeof(Word) * static_cast<std::size_t>(access.group));
      continue;
    }
    const std::int64_t place = place_of(access, l, r, machine) * access.group;
    for (int g = 0; g < access.group; ++g) {
      result[g] = load_lane<Cell>(access, place + g, r, machine);
    }
  }
  return at + 1;
}

template <class Cell, int rank>
const Instr* store_one(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  const Access& access = *at->access;
  store_lane<Cell>(access, one_place<rank>(access, r, machine), r[at->a], r, machine);
  return at + 1;
}

template <class Cell>
const Instr* store_many(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  const Access& access = *at->access;
  for (int l = 0; l < access.index_lanes; ++l) {
    if (is_masked_out(access, l, r)) continue;
    const std::int64_t place = place_of(access, l, r, machine) * access.group;
    for (int g = 0; g < access.group; ++g) {
      const Word value = r[at->a + (l * access.group + g) * at->sa];
      store_lane<Cell>(access, place + g, value, r, machine);
    }
  }
  return at + 1;
}

const Instr* forget(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  const Access& access = *at->access;
  for (int l = 0; l < access.index_lanes; ++l) {
    if (is_masked_out(access, l, r)) continue;
    const std::int64_t place = place_of(access, l, r, machine) * access.group;
    for (int g = 0; g < access.group; ++g) {
      Memory* memory = r[access.data].memory;
      const Place found = granules_of(memory, access, place + g, r, machine);
      if (memory->written.empty()) {
        memory->written.assign(static_cast<std::size_t>(memory->granules), 1);
      }
      mark_written(*memory, found, false);
    }
  }
  return at + 1;
}

const Instr* skip_unwritten(const Instr* at, Word* r, Machine& machine) {
  const Access& access = *at->access;
  for (int l = 0; l < access.index_lanes; ++l) {
    if (is_masked_out(access, l, r)) continue;
    const std::int64_t place = place_of(access, l, r, machine) * access.group;
    for (int g = 0; g < access.group; ++g) {
      Memory* memory = r[access.data].memory;
      const Place found = granules_of(memory, access, place + g, r, machine);
      if (!memory->written.empty() && !was_written(*memory, found)) return at + at->jump;
    }
  }
  return at + 1;
}

const Instr* address(const Instr* at, Word* r, Machine& machine) {
  const Access& access = *at->access;
  const std::int64_t place = place_of(access, 0, r, machine) * access.group;
  r[at->d] = r[access.data];
  r[at->d + 1] = {.i = r[access.data + 1].i + place * access.element_bits};
  return at + 1;
}

template <class Pick>
Handler by_cell(const Access& access, const Options& options, Pick&& pick) {
  if (options.mode == Mode::ring) return pick(IntCell<std::uint64_t>());
  const DataType type = access.element;
  if (type.code == TypeCode::float_) {
    if (type.bits == 32) return pick(RealCell<float>());
    if (type.bits == 64) return pick(RealCell<double>());
  }
  if (type.is_int()) {
    if (type.bits == 8) return pick(IntCell<std::int8_t>());
    if (type.bits == 16) return pick(IntCell<std::int16_t>());
    if (type.bits == 32) return pick(IntCell<std::int32_t>());
    if (type.bits == 64) return pick(IntCell<std::int64_t>());
  }
  if (type.is_uint()) {
    if (type.bits == 8) return pick(IntCell<std::uint8_t>());
    if (type.bits == 32) return pick(IntCell<std::uint32_t>());
  }
  return pick(AnyCell());
}

bool is_one(const Access& access) {
  return access.index_lanes * access.group == 1 && access.mask.reg == no_register;
}

/// The rank of a compact buffer for which there is a short way; -1: there is none.
int short_rank(const Access& access) {
  const bool is_compact =
      access.offset == no_register && std::ranges::all_of(access.dims, [](const Dimension& dim) {
        return dim.stride == no_register;
      });
  const auto rank = static_cast<int>(access.dims.size());
  return is_compact && rank >= 1 && rank <= 3 ? rank : -1;
}

}  // namespace

Handler load_handler(const Access& access, const Options& options) {
  return by_cell(access, options, [&]<class Cell>(Cell) -> Handler {
    if (!is_one(access)) return load_many<Cell>;
    switch (short_rank(access)) {
      case 1: return load_one<Cell, 1>;
      case 2: return load_one<Cell, 2>;
      case 3: return load_one<Cell, 3>;
      default: return load_one<Cell, -1>;
    }
  });
}

Handler store_handler(const Access& access, const Options& options) {
  return by_cell(access, options, [&]<class Cell>(Cell) -> Handler {
    if (!is_one(access)) return store_many<Cell>;
    switch (short_rank(access)) {
      case 1: return store_one<Cell, 1>;
      case 2: return store_one<Cell, 2>;
      case 3: return store_one<Cell, 3>;
      default: return store_one<Cell, -1>;
    }
  });
}

Handler forget_handler() {
  return forget;
}
Handler skip_unwritten_handler() {
  return skip_unwritten;
}
Handler address_handler() {
  return address;
}

}  // namespace loopsmith::interp
