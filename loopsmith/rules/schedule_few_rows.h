// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Products of a few rows by a matrix that caches do not hold: the matrix is read once, along its
/// rows, several at a time; for each of its vectors there is a vector of sums of every row, side by
/// side in memory, and so are the elements that are multiplied by it.
bool schedule_few_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
