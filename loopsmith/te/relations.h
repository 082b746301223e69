// SPDX-License-Identifier: Apache-2.0
// What the axes of a stage are to each other, by the splits and fuses that were recorded.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/walk.h"
#include "loopsmith/te/decisions.h"

namespace loopsmith::te {

inline bool holds(const std::vector<IterVar>& axes, const IterVar& axis) {
  return std::ranges::any_of(axes, [&](const IterVar& one) { return one.same_as(axis); });
}

/// By axis.
using AxisDomains = std::unordered_map<Ref, Ptr<Range>, RefHash, RefEqual>;
using AxisValues = std::unordered_map<Ref, Expr, RefHash, RefEqual>;

/// What each axis runs through where the whole operation is computed. A LayoutStep ends it with a
/// UserError in the name of `call`.
AxisDomains domains_of(const StageData& stage, std::string_view call);

/// Adds the values of the axes that the known ones were made of: from loops to what an operation
/// is written in.
void pass_up(const StageData& stage, const AxisDomains& domains, AxisValues& values);

/// Adds the values of the axes that were made of the known ones.
void pass_down(const StageData& stage, const AxisDomains& domains, AxisValues& values);

/// The conditions under which the values stay within the domains: of axes whose extent a split
/// rounded up.
std::vector<Expr> guards_of(const StageData& stage, const AxisDomains& domains,
                            const AxisValues& values);

}  // namespace loopsmith::te
