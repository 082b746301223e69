// SPDX-License-Identifier: Apache-2.0
// What iterations of a loop cost: how often the loops inside of it run.
#pragma once
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The extents of the loops right inside another, as far as they differ from iteration to iteration
/// and can be told before that loop runs, in terms of its variable.
std::vector<Expr> differing_extents(const For& loop);

/// What each iteration of the loop adds such an extent to, as the bounds of rows are where each
/// starts at the end of the one before: `S[i]` of `S[i + 1] - S[i]`. Null where it is no
/// difference. It may be read for the iteration behind the last one, if there is one.
Expr sum_of_extents(const Expr& extent, const For& loop);

}  // namespace loopsmith
