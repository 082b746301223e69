// SPDX-License-Identifier: Apache-2.0
// Primitives that are wrong on purpose, each called with a block: the law refuses them, whatever
// their author forgot.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::schedule_testing {

using WrongStep = void (*)(Schedule& schedule, BlockRV block);

/// Exchanges the first two statements of the scope.
void exchange_statements(Schedule& schedule, BlockRV block);
/// Leaves out the last statement.
void leave_out_the_last(Schedule& schedule, BlockRV block);
/// Runs the block once more at the end.
void repeat_the_block(Schedule& schedule, BlockRV block);
/// Caches what the block reads, and copies it before anything else happens.
void copy_too_early(Schedule& schedule, BlockRV block);
/// Lets the block store something else.
void store_another_value(Schedule& schedule, BlockRV block);
/// Copies in time, and something else than what is read.
void copy_another_value(Schedule& schedule, BlockRV block);
/// Changes the program, then finds that it cannot.
void throw_half_done(Schedule& schedule, BlockRV block);

}  // namespace loopsmith::schedule_testing
