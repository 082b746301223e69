// SPDX-License-Identifier: Apache-2.0
// Programs scheduled by rule and compared with themselves as written. All values are small
// integers, so that results agree exactly.
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/transform/testing/evaluate.h"

namespace loopsmith::testing {

/// A tensor of integers between -50 and 50; others for another seed.
TestArgument numbers(std::vector<std::int64_t> shape, int seed = 1);

/// What `build` makes of a function; expects that it and its lowered form compute what `func` does,
/// and that the trace of the default schedule gives the same program again.
Ptr<PrimFunc> checked_schedule(const Ptr<PrimFunc>& func,
                               const std::vector<TestArgument>& arguments, const CpuModel& machine);

}  // namespace loopsmith::testing
