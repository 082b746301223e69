// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// Whether the node calls a function like exp; shifts and other operations of bits are cheap.
bool is_costly_call(const Ref& node);

/// Cycles that a vector of results of an elementwise nest takes, of data that is near: each element
/// loaded once, more where loads cross lines of the cache, or the operations, whichever takes
/// longer; and the store. A product that is added to something is one operation.
double vector_cost(const Nest& nest, const CpuModel& machine);

/// Cycles to keep a vector of an intermediate of so many bytes, and to fetch it again.
double keeping_cost(std::int64_t bytes, const CpuModel& machine);

}  // namespace loopsmith
