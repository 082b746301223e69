// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/schedule/testing/draw.h"

namespace loopsmith::schedule_testing {

/// A map from indices of these extents to them in another order, one of them cut, joined, reversed
/// or moved. `may_leave_out`: one of them may be missing.
Ptr<IndexMap> random_map(Draw& draw, const std::vector<std::int64_t>& extents, bool may_leave_out);

}  // namespace loopsmith::schedule_testing
