// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Reductions across rows, of which no operand is shared by results: a tile of several vectors of
/// results stays in registers while all rows pass by. Tiles are tasks.
///
///     for j, k in m, n:           for jo in m / 64:  (parallel)
///       S[j] += A[k, j]     =>      S[jo*64 : jo*64+64] = 0
///                                   for k in n:
///                                     S[jo*64 : jo*64+64] += A[k, jo*64 : jo*64+64]
///
/// Columns that tiles do not cover are cut off before, and are a vector of their own, which
/// lowering takes apart into ones of powers of two lanes: a masked tile would be loaded and stored
/// for each row.
bool schedule_columns(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
