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

/// What `sample_compute_location` gives where it means no loop: the block stays, or is inlined.
enum class LocationMark : std::uint8_t { root, inlined };

/// A loop to compute at, or a mark: a handle of no schedule, with a number of its own.
struct ComputeLocation {
  LoopRV loop;

  ComputeLocation() = default;
  ComputeLocation(LoopRV loop) : loop(loop) {}
  /// The mark that step `step` of a schedule gives.
  ComputeLocation(LocationMark mark, std::uint32_t step)
      : loop{0, 1U << 31 | step << 1 | static_cast<std::uint32_t>(mark)} {}

  bool is_mark() const { return loop.schedule == 0 && loop.index >> 31 != 0; }
  LocationMark mark() const { return static_cast<LocationMark>(loop.index & 1); }
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
