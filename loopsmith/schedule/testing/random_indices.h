// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/schedule/testing/draw.h"

namespace loopsmith::schedule_testing {

/// Indices in another order, one of them cut, joined, reversed or moved; `extents`: theirs before.
/// `may_leave_out`: one of them may be missing.
std::vector<Expr> random_indices(Draw& draw, std::vector<Expr> indices,
                                 const std::vector<std::int64_t>& extents, bool may_leave_out);

}  // namespace loopsmith::schedule_testing
