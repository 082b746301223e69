// SPDX-License-Identifier: Apache-2.0
// What a learned model sees of a program: numbers of its most expensive statements.
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith::tune {

/// Changes whenever the numbers mean something else: what was learned of others is of no use.
inline constexpr int features_version = 1;
/// So many statements have numbers of their own, the most expensive first.
inline constexpr int featured_statements = 3;

/// The numbers of a statement, each but the counts of accesses and the shares as log2(1 + x).
inline constexpr std::array<std::string_view, 24> statement_features{
    "cycles",         "compute",          "first_cache",      "core_cache",
    "last_cache",     "launches",         "threads",          "loops",
    "iterations",     "innermost",        "vector_lanes",     "unrolled",
    "parallel",       "around_parallel",  "accesses",         "unit_accesses",
    "fixed_accesses", "strided_accesses", "unknown_accesses", "bytes",
    "simple",         "divisions",        "functions",        "conditions"};

/// The numbers of a function as it is scheduled: the logarithm of its estimated seconds, how many
/// statements it has, then `statement_features` of each of the first; missing ones are 0.
/// Throws a UserError where it cannot be lowered.
std::vector<double> features_of(const Ptr<PrimFunc>& func, const CpuModel& machine,
                                const LowerOptions& options = {});

}  // namespace loopsmith::tune
