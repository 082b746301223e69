// SPDX-License-Identifier: Apache-2.0
// Answers about the order of iterations.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/schedule/refusal.h"

namespace loopsmith {

/// An answer about dependences.
struct OrderAnswer {
  enum class Kind { proved, violated, unknown } kind = Kind::unknown;
  std::optional<Witness> witness = {};  ///< Two iterations that conflict.
  std::string why = {};                 ///< What could not be found out.
  bool reorders_updates = false;        ///< Proved, as updates of one accumulator commute.

  bool is_proved() const { return kind == Kind::proved; }
};

/// The dependences that a loop carries.
struct CarriedDependences {
  OrderAnswer verdict;
  bool is_reduction = false;  ///< All of them are updates of a commutative reduction.
  /// Buffers that must be privatized: one copy for each iteration.
  std::vector<Ptr<Buffer>> own = {};
};

/// How iterations run concurrently.
enum class Concurrency {
  in_threads,        ///< In any order.
  in_lanes,          ///< Each statement for all of them before the next; reads before writes.
  in_blocks,         ///< In any order, by blocks of threads: each has its own shared memory.
  in_block_threads,  ///< In any order, by the threads of a block: each has its own local memory.
};

/// How the iterations of a loop run that runs them concurrently.
Concurrency concurrency_of(const For& loop);
/// True when memory of that scope is private to each iteration of such a loop.
bool is_private_to_iteration(Concurrency how, MemoryScope scope);

}  // namespace loopsmith
