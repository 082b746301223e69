// SPDX-License-Identifier: Apache-2.0
// For tests only: programs as scripts, and what they compute.
#pragma once
#include <string_view>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::schedule_testing {

/// A function from its parameters (`A: T.Buffer((8,), "float32")`) and the lines of its body,
/// which stand at the margin.
Ptr<PrimFunc> program(std::string_view parameters, std::string_view body);

/// The loops of the first function of a schedule, outer ones before those inside.
Handles<LoopRV> all_loops(const Schedule& schedule);

/// Expects that a scheduled program computes what it did, replays, and is `expected` by structure,
/// where that is given.
void expect_result(const Schedule& schedule, const Ptr<PrimFunc>& before,
                   const Ptr<PrimFunc>& expected = nullptr);

}  // namespace loopsmith::schedule_testing
