// SPDX-License-Identifier: Apache-2.0
// Steps that many rules take.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// A loop that steps have made, with the values of its variable for an axis.
NestLoop with_axis(const Schedule& schedule, LoopRV loop);

/// True when the type of the loops holds the number of all points of these.
bool fits_type(const Schedule& schedule, std::span<const NestLoop> loops);

/// Makes one loop of nested ones, which counts in 64 bits where their type might not do; the loop
/// itself where there is one.
LoopRV fuse_all(Schedule& schedule, std::span<const NestLoop> loops);

/// Runs a loop in threads where the subject is worth them. All of a nest may run in any order, also
/// where digits by several sizes hide that.
void run_in_threads(Schedule& schedule, LoopRV loop, const RuleContext& context,
                    bool is_all_of_nest = false);

/// Makes one parallel loop of so many of `loops`, from the outermost, that there is work for all
/// threads where the subject is worth them.
void parallelize(Schedule& schedule, const std::vector<NestLoop>& loops,
                 const RuleContext& context);

/// Puts the iterations of a loop of that extent into vectors of `lanes`; all of a short one into
/// one vector. Gives the loop over vectors, if there is one.
std::optional<LoopRV> vectorize_by(Schedule& schedule, LoopRV loop,
                                   std::optional<std::int64_t> extent, std::int64_t lanes,
                                   const RuleContext& context);

}  // namespace loopsmith
