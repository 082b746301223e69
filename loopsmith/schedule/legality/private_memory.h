// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Does each iteration of a loop read of a buffer only what it wrote itself?
///
/// Lemma. Let all that uses the buffer be blocks inside the loop that declare it. Let each that
/// reads it either update results of its own, which it starts in the same iteration, or come in a
/// sequence after a statement that, whenever it runs, stores to a box that holds all that the block
/// reads while what is inside the sequence runs. Then no value goes from one iteration to another,
/// and iterations may have the buffer each for itself.
bool writes_what_it_reads(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
