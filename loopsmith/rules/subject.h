// SPDX-License-Identifier: Apache-2.0
// What of a program each rule is asked about.
#pragma once
#include <vector>

#include "loopsmith/rules/program.h"
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// The program of a schedule as the rules see it: the statements of its root block, in their order.
Program program_of(const Schedule& schedule);

/// The subjects of a program: nests that share rows stand together, others alone.
std::vector<Subject> subjects_of(const Schedule& schedule, const CpuModel& machine);

}  // namespace loopsmith
