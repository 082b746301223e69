// SPDX-License-Identifier: Apache-2.0
// Which memory iterations that run concurrently have each for itself, and which they share.
#pragma once
#include <vector>

#include "loopsmith/schedule/legality/order_answer.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class OwnMemory;

/// True when a buffer is one of these.
bool is_one_of(const std::vector<Ptr<Buffer>>& buffers, const Ptr<Buffer>& buffer);

/// Buffers that are allocated around a nest, and of which nothing outside of it reads what the nest
/// stores: iterations that run so may have them each for itself, or fill them `alike`.
std::vector<Ptr<Buffer>> memory_of_nest(const Schedule& schedule, NodeId nest,
                                        const ElementAccesses& accesses, Concurrency how,
                                        OwnMemory& memory,
                                        const std::vector<Ptr<Buffer>>& alike = {});

/// True when the iterations of a loop may have the buffer, one of `memory`, each for itself; adds
/// it to `own` then.
bool is_known_as_own(OwnMemory& questions, LoopRV loop, const Buffer* buffer,
                     const std::vector<Ptr<Buffer>>& memory, std::vector<Ptr<Buffer>>& own);

/// Takes the shared memory of threads from what the iterations of a loop own when they run so.
std::vector<Ptr<Buffer>> take_shared(Concurrency how, ElementAccesses& accesses);

/// Adds what blocks around a loop allocate and is not of one of its iterations when they run so.
void add_shared_around(const Schedule& schedule, NodeId loop, Concurrency how,
                       std::vector<Ptr<Buffer>>& shared);

}  // namespace loopsmith
