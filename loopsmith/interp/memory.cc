// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/memory.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace loopsmith::interp {
namespace {

/// The fields of a floating-point type of 16 or 8 bits.
struct Layout {
  int mantissa_bits;
  int bias;
  bool has_infinity;
  std::uint64_t nan;
};

Layout layout_of(DataType type) {
  if (type.code == TypeCode::float8_e4m3) return {3, 7, false, 0x7f};
  if (type.code == TypeCode::float8_e5m2) return {2, 15, true, 0x7e};
  if (type.is_bfloat16()) return {7, 127, true, 0x7fc0};
  return {10, 15, true, 0x7e00};
}

std::uint64_t encode_narrow(DataType type, double value) {
  const Layout layout = layout_of(type);
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (type.bits - 1) : 0;
  const int exponent_bits = type.bits - 1 - layout.mantissa_bits;
  if (std::isnan(value)) return sign | layout.nan;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) {
    return sign | (((std::uint64_t{1} << exponent_bits) - 1) << layout.mantissa_bits);
  }
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  const bool is_denormal = exponent < 1 - layout.bias;
  if (is_denormal) exponent = 1 - layout.bias;
  auto fraction =
      static_cast<std::uint64_t>(std::ldexp(magnitude, layout.mantissa_bits - exponent));
  const auto field = static_cast<std::uint64_t>(is_denormal ? 0 : exponent + layout.bias);
  fraction &= (std::uint64_t{1} << layout.mantissa_bits) - 1;
  return sign | field << layout.mantissa_bits | fraction;
}

double decode_narrow(DataType type, std::uint64_t bits) {
  const Layout layout = layout_of(type);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << layout.mantissa_bits) - 1);
  const int exponent_bits = type.bits - 1 - layout.mantissa_bits;
  const std::uint64_t largest = (std::uint64_t{1} << exponent_bits) - 1;
  const std::uint64_t field = (bits >> layout.mantissa_bits) & largest;
  const double sign = (bits >> (type.bits - 1)) & 1 ? -1 : 1;
  if (layout.has_infinity && field == largest) {
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  const std::uint64_t all_but_sign = (std::uint64_t{1} << (type.bits - 1)) - 1;
  if (!layout.has_infinity && (bits & all_but_sign) == layout.nan) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::uint64_t whole =
      field == 0 ? fraction : fraction | (std::uint64_t{1} << layout.mantissa_bits);
  const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - layout.bias;
  return sign * std::ldexp(static_cast<double>(whole), exponent - layout.mantissa_bits);
}

}  // namespace

std::uint64_t encode(DataType type, Word value) {
  if (!type.is_float()) return value.u;
  if (type.bits == 64) return std::bit_cast<std::uint64_t>(value.f);
  if (type.bits == 32) return std::bit_cast<std::uint32_t>(static_cast<float>(value.f));
  return encode_narrow(type, value.f);
}

Word decode(DataType type, std::uint64_t bits) {
  if (type.is_bool()) return {.i = bits != 0};
  if (!type.is_float()) return {.i = wrap_to(type, static_cast<std::int64_t>(bits))};
  if (type.bits == 64) return {.f = std::bit_cast<double>(bits)};
  if (type.bits == 32) return {.f = std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  return {.f = decode_narrow(type, bits)};
}

Word load_element(const std::byte* bytes, DataType type, std::int64_t place) {
  const int bits = stored_bits(type);
  std::uint64_t code = 0;
  if (bits >= 8) {
    const int count = bits / 8;
    std::memcpy(&code, bytes + place * count, static_cast<std::size_t>(count));
  } else {
    const std::int64_t first = place * bits;
    const auto whole = static_cast<std::uint64_t>(bytes[first / 8]);
    code = whole >> (first % 8) & ((1U << bits) - 1);
  }
  return decode(type, code);
}

void store_element(std::byte* bytes, DataType type, std::int64_t place, Word value) {
  const int bits = stored_bits(type);
  const std::uint64_t code = encode(type, value);
  if (bits >= 8) {
    const int count = bits / 8;
    std::memcpy(bytes + place * count, &code, static_cast<std::size_t>(count));
    return;
  }
  const std::int64_t first = place * bits;
  const auto shift = static_cast<unsigned>(first % 8);
  const auto mask = static_cast<std::uint8_t>(((1U << bits) - 1) << shift);
  std::byte& whole = bytes[first / 8];
  whole = (whole & ~std::byte{mask}) | (std::byte{mask} & static_cast<std::byte>(code << shift));
}

void Memory::allocate(std::string_view for_whom, DataType element, std::int64_t count, bool ring) {
  name = for_whom;
  is_ring = ring;
  granule_bits = stored_bits(element);
  granules = count * element.lanes;
  plain_bits = granule_bits;
  const std::int64_t words = ring ? granules : (granules * granule_bits + 63) / 64;
  storage = Zeroed<std::uint64_t>(static_cast<std::size_t>(words));
  bytes = reinterpret_cast<std::byte*>(storage.data());
  written = Zeroed<std::uint8_t>(static_cast<std::size_t>(granules));
  last_accesses = {};
  copies.clear();
}

void Memory::cut_granules(int bits) {
  const int smaller = std::gcd(granule_bits, bits);
  const auto parts = static_cast<std::size_t>(granule_bits / smaller);
  if (parts == 1) return;
  if (is_ring) {
    // A value stays whole, at its first granule; the others have none.
    Zeroed<std::uint64_t> fresh(storage.size() * parts);
    for (std::size_t i = 0; i < storage.size(); ++i) fresh[i * parts] = storage[i];
    storage = std::move(fresh);
    bytes = reinterpret_cast<std::byte*>(storage.data());
  }
  Zeroed<std::uint8_t> marks;
  for (const std::uint8_t mark : written) {
    const bool starts = mark != never_written && mark != goes_on;
    marks.push_back(starts ? static_cast<std::uint8_t>(mark * parts) : mark);
    marks.insert(marks.end(), parts - 1, starts ? goes_on : mark);
  }
  written = std::move(marks);
  Zeroed<LastAccesses> fresh;
  for (const LastAccesses& each : last_accesses) fresh.insert(fresh.end(), parts, each);
  last_accesses = std::move(fresh);
  granules *= static_cast<std::int64_t>(parts);
  granule_bits = smaller;
  if (plain_bits) plain_bits = smaller;
  for (auto& [owner, copy] : copies) copy->cut_granules(bits);
}

std::int64_t Memory::size_bytes() const {
  return static_cast<std::int64_t>(storage.size() * 8 + written.size());
}

Memory& Memory::copy_of(std::int64_t owner) {
  std::unique_ptr<Memory>& copy = copies[owner];
  if (!copy) {
    copy = std::make_unique<Memory>();
    copy->name = name;
    copy->granule_bits = copy->plain_bits = granule_bits;
    copy->granules = granules;
    copy->is_ring = is_ring;
    copy->birth = birth;
    copy->may_be_private = may_be_private;
    copy->may_be_of_blocks = may_be_of_blocks;
    copy->storage = storage;
    copy->written = written;
    copy->bytes = reinterpret_cast<std::byte*>(copy->storage.data());
  }
  return *copy;
}

}  // namespace loopsmith::interp
