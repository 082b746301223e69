// SPDX-License-Identifier: Apache-2.0
// Programs that are too large to be run are compared by some of their elements. Private to the
// floor.
#pragma once
#include "loopsmith/interp/assert_same.h"
#include "loopsmith/interp/interp.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {

/// Compares elements here and there of what two functions of constant sizes write, on inputs drawn
/// at random. Each is computed by the part of the program that it depends on.
Verdict compare_samples(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after, Mode mode,
                        const CompareOptions& options);

/// How long a run of a function of constant sizes takes, about, in the time of a store.
double run_time(const Ptr<PrimFunc>& func);

/// True for an error that says that the interpreter gave up: the program may be right.
bool is_limit(const UserError& error);

/// How many statements `after` may take where `before` took some and may take `most`: a schedule
/// may do more, but not without end.
std::int64_t max_after(std::int64_t before, std::int64_t most);

}  // namespace loopsmith::interp
