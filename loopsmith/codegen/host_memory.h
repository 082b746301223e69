// SPDX-License-Identifier: Apache-2.0
// Where code for the host keeps the memory of a function, for all back ends.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// Of memory that a function takes, in bytes.
inline constexpr std::int64_t own_alignment = 64;

/// The bytes that it takes, where its extents are constant; an element has `bits`.
inline std::optional<std::int64_t> constant_bytes(const Allocate& allocate, std::int64_t bits) {
  for (const Expr& extent : allocate.extents) {
    const std::int64_t* count = as_int(extent);
    if (!count || *count < 0 || __builtin_mul_overflow(bits, *count, &bits)) return {};
  }
  return bits / 8 + (bits % 8 == 0 ? 0 : 1);
}

/// Whether memory stands on the stack; `used`: what others of the function take there.
constexpr bool fits_on_stack(std::int64_t bytes, std::int64_t used) {
  constexpr std::int64_t max_of_allocation = 16 * 1024;
  constexpr std::int64_t max_of_function = 128 * 1024;
  return bytes <= max_of_allocation && used + bytes <= max_of_function;
}

/// The allocations with which the body of a loop starts, of as many bytes in each iteration: one
/// serves all iterations that run one after another.
std::vector<const Allocate*> allocations_of_all_iterations(const For& loop);

}  // namespace loopsmith
