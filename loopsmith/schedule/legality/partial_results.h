// SPDX-License-Identifier: Apache-2.0
// Reductions of a loop in whose threads each part of the loop has partial results of its own.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// Elements of a buffer in which all iterations of a loop accumulate alike, each in the same ones
/// or in some that only run time knows.
struct Accumulator {
  Ptr<Buffer> buffer;
  Combiner combiner = Combiner::sum;
  /// The elements, in terms of what is defined outside of the loop: those at least.
  std::vector<arith::Interval> box = {};
  bool is_exact = true;      ///< Each of them is updated whenever the loop runs.
  bool is_indirect = false;  ///< The indices are read from memory, so the elements are not known.
  /// How often an iteration of the loop updates elements, where that is known; else 1.
  std::int64_t updates = 1;
};

/// What several iterations of a loop update of the buffers: of each, for each combiner other
/// elements. Nullopt when one of these is used otherwise, too, or moves with the loop.
/// Inits of blocks are left out. `nest` is the loop inside of what stands around it.
std::optional<std::vector<Accumulator>> accumulators_of(const For& loop,
                                                        std::span<const Ptr<Buffer>> buffers,
                                                        const Stmt& nest);

/// So many partial results are combined one after another; more are combined in groups first.
inline constexpr std::int64_t partial_result_group = 8;

/// How many partial results a loop gets: 1 where the loop is too short for them, 0 where they would
/// be too large. It depends on the program alone, so that what the program computes does not depend
/// on the number of threads.
std::int64_t partial_result_count(const For& loop, std::span<const Accumulator> accumulators);

/// How many parts of a loop of `extent` iterations are enough for the threads of large machines to
/// share them evenly, each more work than its combination: an iteration does `work` times that.
std::int64_t part_count(std::int64_t extent, std::int64_t work);

/// Refuses where a reduction over a loop may read its results while they are partial.
std::optional<Refusal> refuse_reads_of_results(const Schedule& schedule, LoopRV loop);

/// True when a reduction over a loop may run in threads with partial results that are combined
/// after it, wherever in the loop it stands. Iterations have the buffers `own` for themselves.
bool accumulator_is_private(const Schedule& schedule, LoopRV loop,
                            std::span<const Ptr<Buffer>> own);

}  // namespace loopsmith
