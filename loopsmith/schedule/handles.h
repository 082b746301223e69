// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>

namespace loopsmith {

/// A loop of a schedule, by its number there. A step may consume the loop; the handle remembers it.
struct LoopRV {
  std::uint32_t schedule = 0;  ///< The id of the schedule that made the handle.
  std::uint32_t index = 0;

  auto operator<=>(const LoopRV&) const = default;
};

/// A block of a schedule.
struct BlockRV {
  std::uint32_t schedule = 0;
  std::uint32_t index = 0;

  auto operator<=>(const BlockRV&) const = default;
};

/// A number that a schedule has decided on, or may decide on anew: a hole.
struct ExprRV {
  std::uint32_t schedule = 0;
  std::uint32_t index = 0;

  auto operator<=>(const ExprRV&) const = default;
};

}  // namespace loopsmith
