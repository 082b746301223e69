// SPDX-License-Identifier: Apache-2.0
// What iterations of a loop accumulate into together, and how many partial results that gets.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/accumulation.h"

namespace loopsmith {

/// The elements of a buffer into which iterations of a loop accumulate: the same ones in each
/// iteration, or some that move with it, or are known at run time only.
struct Accumulator {
  std::vector<Ptr<Buffer>> buffers;  ///< Several: elements of a tuple, which have the same indices.
  Combiner combiner = Combiner::sum;
  /// How a block combines, where no combiner says it.
  std::optional<KnownReduction> reduction = {};
  /// A superset of the elements, in terms of variables defined outside of the loop.
  std::vector<arith::Interval> box = {};
  bool is_exact = true;      ///< Every one of them is updated whenever the loop runs.
  bool is_indirect = false;  ///< The indices are read from memory.
  bool moves = false;        ///< The elements depend on the iteration.
  /// How often an iteration of the loop updates elements, where that is known; else 1.
  std::int64_t updates = 1;
};

/// The elements of `buffers` that several iterations of a loop update, one entry for each buffer
/// and combiner. Nullopt when an update has another form. Inits of blocks are ignored.
std::optional<std::vector<Accumulator>> accumulators_of(const For& loop,
                                                        std::span<const Ptr<Buffer>> buffers);
/// The same, or nullopt when the loop may access these elements in another way. `nest` is the loop
/// inside the statements that enclose it.
std::optional<std::vector<Accumulator>> accumulators_of(const For& loop,
                                                        std::span<const Ptr<Buffer>> buffers,
                                                        const Stmt& nest);

/// Up to this many partial results are combined sequentially; more are combined in groups first.
inline constexpr std::int64_t partial_result_group = 8;

/// How many partial results a loop gets: 1 where the loop is too short for them, 0 where they would
/// be too large. It depends on the program alone, so that what the program computes does not depend
/// on the number of threads.
std::int64_t partial_result_count(const For& loop, std::span<const Accumulator> accumulators);

/// True when partial results of updates that do not stay in place cost less than the updates: the
/// copies of each part are no larger than the number of its iterations.
bool copies_pay(const For& loop, std::span<const Accumulator> accumulators);

/// True when updates of what a loop accumulates are rather made atomically than apart: it asks for
/// that, its iterations are no parts, or copies would cost more than the updates. `accumulators`
/// are those of one buffer, null where there are no partial results of it.
bool prefers_atomic_updates(const For& loop, const std::vector<Accumulator>* accumulators);

/// The number of parts of a loop of `extent` iterations: enough for the threads of a large machine
/// to balance, and each with more work than combining it costs; an iteration does `work` times
/// that.
std::int64_t part_count(std::int64_t extent, std::int64_t work);

}  // namespace loopsmith
