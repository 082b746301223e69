// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Lets a loop run over its values plus `amount`, which what is around it knows, and its body use
/// the values of before. Cannot fail, and changes no order: iterations get other names.
void shift_loop(Schedule& schedule, LoopRV loop, const Expr& amount);

}  // namespace loopsmith
