// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Gives reductions the order in which all further steps have to leave them, the same for all
/// schedules, targets and numbers of threads.
///
/// A reduction with an axis of its result for vectors keeps the order in which it is written. One
/// without, as a sum of a row, has 32 partial results, each of every so many-th element, which are
/// combined at the end: one for each lane of two of the widest vectors, whatever the machine has.
void fix_order(Schedule& schedule);

}  // namespace loopsmith::tune
