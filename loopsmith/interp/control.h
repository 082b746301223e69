// SPDX-License-Identifier: Apache-2.0
// Jumps, loops, calls, memory and the like.
#pragma once
#include "loopsmith/interp/code.h"

namespace loopsmith::interp {

Handler jump_handler();
/// Jumps unless `a`.
Handler jump_unless_handler();

/// Starts a loop over d = a, a + c, ..., `b` times; d + 1 counts. Jumps where there is no
/// iteration. `number` is the loop's in the program.
Handler loop_begin_handler();
/// The next iteration: jumps back to the body. Operands as above.
Handler loop_next_handler(bool is_checked);
/// The same for loops whose iterations may run at the same time; `data` is the ParallelLoop.
Handler parallel_begin_handler();
Handler parallel_next_handler(bool is_checked);
/// Tells lanes that a `while` with this `number` begins; that a loop is left by other ways than its
/// end.
Handler enter_loop_handler();
Handler leave_loop_handler();
/// Counts an iteration of a `while`.
Handler step_handler();

/// Allocates `a` elements at site `b`, `data` says what for; d is the pointer.
Handler allocate_handler();
/// The same, with constant elements.
Handler allocate_constant_handler();

/// Stops unless a == b; `data` is the text that names them.
Handler check_equal_handler();
/// Stops, unless `a`, with the text `data`.
Handler assert_handler();

/// Calls the CallSite `data`; d gets what it returns.
Handler call_handler();
/// Leaves the function, without a value or with that of `a`.
Handler leave_handler();
Handler leave_with_handler();

}  // namespace loopsmith::interp
