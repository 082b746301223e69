// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/program.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The buffers that `nest` fills and that do not fit into the caches, when nothing in the program
/// reads them. To write them past the caches saves reading them first.
std::vector<Ptr<Buffer>> nontemporal_outputs(const Nest& nest, const Program& program,
                                             const CpuModel& machine);

/// Lets a loop of the nest write past the caches, if all that the nest writes goes there.
void stream(Schedule& schedule, const Nest& nest, LoopRV loop, const CpuModel& machine);

}  // namespace loopsmith
