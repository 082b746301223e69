// SPDX-License-Identifier: Apache-2.0
// Whether steps keep the order of what depends on each other.
#pragma once
#include <span>
#include <vector>

#include "loopsmith/schedule/legality/block_axes.h"
#include "loopsmith/schedule/legality/order_answer.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class OwnMemory;

/// Whether the iterations of a loop are independent of each other.
CarriedDependences carried_by(const Schedule& schedule, LoopRV loop,
                              Concurrency how = Concurrency::in_threads);
/// The same for one of several loops of the schedule, which ask `memory` in turn.
CarriedDependences carried_by(const Schedule& schedule, LoopRV loop, Concurrency how,
                              OwnMemory& memory);

/// The buffers over which iterations of a loop may conflict, but for those of which each may have a
/// copy. A null one stands for memory that is not known.
std::vector<Ptr<Buffer>> conflicting_buffers(const Schedule& schedule, LoopRV loop,
                                             Concurrency how);

/// Whether nested loops, outermost first, may stand in another order. `band` has all loops from the
/// outermost to the innermost that changes its place; `order` says which of them comes where.
OrderAnswer may_reorder(const Schedule& schedule, std::span<const LoopRV> band,
                        std::span<const std::size_t> order);

/// Whether one nest, and one of those after it, may become one.
struct MergeAnswer {
  std::size_t first = 0;
  std::size_t second = 0;
  OrderAnswer answer;
};

/// The answers for each two of nests, whose loops these are, that follow each other; up to the
/// first two that may not become one.
std::vector<MergeAnswer> may_merge(const Schedule& schedule,
                                   std::span<const std::vector<LoopRV>> nests);

/// Refuses where an execution of the loop may read a partial result: an element of `buffers` that
/// the loop reduces into, other than by the update itself.
std::optional<Refusal> refuse_own_reads(const Schedule& schedule, LoopRV loop,
                                        std::span<const Ptr<Buffer>> buffers);
/// The same of what a block in the loop writes.
std::optional<Refusal> refuse_own_reads(const Schedule& schedule, LoopRV loop, BlockRV block);

inline constexpr ResultChange iterations_depend{
    LegalityQuestion::concurrency, true, "iterations of loop {} depend on each other",
    "parallelize or vectorize another loop, or take the dependence away first"};
inline constexpr ResultChange dependence_is_unknown{
    LegalityQuestion::concurrency, false,
    "whether iterations of loop {} depend on each other is unknown, as {}",
    "if you know that they do not, pass assume_independent=True"};
inline constexpr ResultChange updates_are_read{
    LegalityQuestion::regroup, true, "loop {} may read elements of {} that it updates: {}",
    "choose a loop that reads other elements than it updates"};
inline constexpr ResultChange loop_is_reduction{LegalityQuestion::regroup, true,
                                                "loop {} is a reduction",
                                                "rfactor it, then parallelize the new loop"};

}  // namespace loopsmith
