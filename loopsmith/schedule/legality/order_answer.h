// SPDX-License-Identifier: Apache-2.0
// What is found out about the order of iterations.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/buffer.h"
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

/// What the iterations of a loop have to do with each other.
struct CarriedDependences {
  OrderAnswer verdict;
  bool is_reduction = false;  ///< Each conflict is of a commutative reduction's own results.
  /// Buffers that each iteration would have to have for itself.
  std::vector<Ptr<Buffer>> own = {};
};

/// How iterations are to be run at once.
enum class Concurrency {
  in_threads,        ///< In any order.
  in_lanes,          ///< Each statement for all of them before the next; reads before writes.
  in_blocks,         ///< In any order, by blocks of threads: each has its own shared memory.
  in_block_threads,  ///< In any order, by the threads of a block: each has its own local memory.
};

/// How the iterations of a loop run that is bound to a thread axis.
Concurrency concurrency_of_axis(std::string_view thread_axis);
/// True when each of the iterations that run so has memory of that scope for itself.
bool is_private_to_iteration(Concurrency how, std::string_view scope);

}  // namespace loopsmith
