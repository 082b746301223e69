// SPDX-License-Identifier: Apache-2.0
// Threads of a block: fibers that take turns from one barrier to the next.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "loopsmith/interp/code.h"

namespace loopsmith::interp {

struct Frame;

/// What a thread waits for.
enum class Wait : std::uint8_t {
  block,  ///< All threads; what they did comes before what they do next.
  warp,   ///< Those of its warp; the same for these.
  lanes,  ///< Those of its warp, to exchange values; that orders nothing else.
};

/// A thread, between two turns.
struct Fiber {
  std::vector<std::unique_ptr<Frame>> frames;
  const Instr* next = nullptr;  ///< Where it goes on; null: it is done.
  const Instr* waits = nullptr;
  Wait wait_kind = Wait::block;
  std::vector<std::int64_t> indices;  ///< For each axis.
  /// What it gave to the others, last and before: a thread that has taken the one may give the
  /// next.
  std::array<std::vector<Word>, 2> given;
  std::size_t publications = 0;
  std::vector<int> visits;  ///< How often it came to each site of an allocation.
  Turn turn;
};

/// All threads of a block.
struct Team {
  static constexpr std::size_t warp_size = 32;

  const ThreadRegion& region;
  std::vector<Fiber> fibers;
  std::size_t current = 0;
  /// Memory of the block, by site and visit.
  std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<Memory>> shared;

  Fiber& fiber() { return fibers[current]; }
};

/// Runs the instructions up to `thread_end` in each thread of the region `data`, then jumps.
Handler fork_handler();
Handler thread_end_handler();
/// Waits for other threads; `c` is a Wait.
Handler barrier_handler();

/// Gives `b` words from `a` on to the others, and waits for them; `c` is a Wait.
Handler publish_handler();
/// d = what the lane `a` of a group of `b` lanes gave; up, down: the lane `a` before, behind.
enum class Shuffling : std::uint8_t { direct, up, down };
Handler shuffle_handler(Shuffling how);
/// d = what the next thread after the `a`-th of the Gather `data` gave; jumps when there is none.
Handler gather_handler();

}  // namespace loopsmith::interp
