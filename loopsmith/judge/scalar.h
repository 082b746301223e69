// SPDX-License-Identifier: Apache-2.0
// One value, and what operations make of it. Private to the floor.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith::judge {

/// An integer of its type as 64 bits (unsigned ones as their bits), or for floating-point types an
/// element of the field of 2^61 - 1. A poison comes from memory never written.
struct Scalar {
  std::int64_t bits = 0;
  bool is_poison = false;

  bool operator==(const Scalar&) const = default;
  std::uint64_t field() const { return static_cast<std::uint64_t>(bits); }
};

/// 64 bits that depend on all of `parts` and the name.
std::uint64_t hash_of(std::string_view name, std::initializer_list<std::uint64_t> parts);

/// Any number as an element of the field.
std::uint64_t reduced(std::uint64_t value);

Scalar constant(DataType type, double value);

/// What the binary node of kind `kind` gives for two values of type `type`.
Scalar binary(std::uint16_t kind, DataType type, Scalar a, Scalar b);

Scalar converted(DataType from, DataType to, Scalar value);

/// What an intrinsic that depends on nothing but its operands, all of type `type`, gives.
Scalar intrinsic(Op op, DataType type, DataType result, const Scalar* operands, std::size_t count);

}  // namespace loopsmith::judge
