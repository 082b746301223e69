// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/program.h"

namespace loopsmith {

/// The buffers that `nest` fills and that do not fit into the caches, when nothing in the program
/// reads them. To write them past the caches saves reading them first.
std::vector<Ptr<Buffer>> nontemporal_outputs(const Nest& nest, const Program& program,
                                             const CpuModel& machine);

/// Marks the stores of `stmt` to what `nests` write past the caches, for code generation.
Stmt mark_nontemporal_stores(const Stmt& stmt, const std::vector<Nest>& nests);

}  // namespace loopsmith
