// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Products and convolutions whose operands are shared by rows and by columns of results.
///
///     for i, j, k in n, m, l:             for rows, columns of a task: (parallel)
///       C[i, j] += A[i, k] * B[k, j]  =>    for block of k:
///                                             B_panel = B of these columns, in the order of use
///                                             for tile in tiles of rows, of columns:
///                                               sums = 0                        (in registers)
///                                               for k in block:
///                                                 sums += A[rows, k] * B_panel[k, columns]
///                                               C[tile] += sums
///
/// What is computed of an operand alone, such as a conversion, is done as its panel is filled. Axes
/// that tiles do not cover are padded by repetitions of their last index, which are not copied to
/// the results. Taken where all extents are constants.
bool schedule_products(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
