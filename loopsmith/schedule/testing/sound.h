// SPDX-License-Identifier: Apache-2.0
// For tests only.
#pragma once
#include <string_view>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::schedule_testing {

/// The function that a script defines: what stands after `def main`.
Ptr<PrimFunc> program(std::string_view text);

/// Expects that a schedule of `func` computes the same, and that its trace replays.
void expect_sound(const Schedule& schedule, const Ptr<PrimFunc>& func);

}  // namespace loopsmith::schedule_testing
