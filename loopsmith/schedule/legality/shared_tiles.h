// SPDX-License-Identifier: Apache-2.0
// Shared memory that the threads of a block fill cooperatively.
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class OwnMemory;

/// Those of `buffers`, shared by the threads of a block, that all iterations of a loop over threads
/// fill alike: each stores the same values into the same elements, and all of them reach each place
/// where threads wait between a store and what else uses the buffer.
///
/// Theorem. Where each iteration reads only what it stored itself, such a buffer orders no two
/// iterations, and they may share it. Proof: threads wait for each other between statements that
/// use shared memory, so they go from store to use in step; what a thread reads after the n-th wait
/// was stored before it, by whichever thread, and is what it stored itself. (What is stored may be
/// read from memory that each thread wrote in the iteration itself, its own or shared, if all wrote
/// the same there.)
std::vector<Ptr<Buffer>> filled_identically(const Schedule& schedule, LoopRV loop,
                                            const std::vector<Ptr<Buffer>>& buffers,
                                            OwnMemory& memory);

/// True when iterations of `inner`, inside of `outer`, may be shared out to the threads that
/// iterate over `outer`, in place of each doing all: what `inner` does is to store to buffers that
/// the iterations of `outer` fill alike, and to memory that each of its own has for itself.
bool may_share_out(const Schedule& schedule, LoopRV outer, LoopRV inner, OwnMemory& memory);

}  // namespace loopsmith
