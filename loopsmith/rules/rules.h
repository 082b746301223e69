// SPDX-License-Identifier: Apache-2.0
// Every rule of the default schedule.
#pragma once
#include <span>

#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// All rules for processors, and all for GPUs, in the order in which they are asked.
std::span<const Rule> cpu_rules();
std::span<const Rule> gpu_rules();

}  // namespace loopsmith
