// SPDX-License-Identifier: Apache-2.0
// Every rule of the default schedule.
#pragma once
#include <span>

#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// All of them, in the order in which they are asked.
std::span<const Rule> all_rules();

}  // namespace loopsmith
