// SPDX-License-Identifier: Apache-2.0
// For tests only.
#pragma once
#include <functional>
#include <string>

#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::schedule_testing {

/// C = A @ B of these sizes, block `C`, loops i, j, k.
Ptr<PrimFunc> matmul(int n = 128, int m = 96, int k = 64);

/// B = A + 1, then C = B * 2, of n by m elements; loops i, j; B is intermediate.
Ptr<PrimFunc> two_stages(int n = 96, int m = 64);

/// The program inside the root block, as script; it is verified, too.
std::string body_of(const Schedule& schedule);

/// What `fn` complains about: `code: problem`; empty when it does not.
std::string error_of(const std::function<void()>& fn);

/// Replays the trace of a schedule of `func`, itself and through JSON, and expects the same
/// program.
void expect_replays(const Schedule& schedule, const Ptr<PrimFunc>& func);

}  // namespace loopsmith::schedule_testing
