// SPDX-License-Identifier: Apache-2.0
// Whether statements of one sequence may take another order, or run in loops of their own.
#pragma once
#include "loopsmith/schedule/legality/order_answer.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Whether a loop may be cut in front of `second_part`, a statement of a sequence that is all there
/// is inside the loop, or loops inside that.
OrderAnswer may_distribute(const Schedule& schedule, LoopRV loop, const Stmt& second_part);

/// Whether two statements of the sequence at that node, the second after the first, may change
/// places.
OrderAnswer may_exchange(const Schedule& schedule, NodeId sequence, const Stmt& first,
                         const Stmt& second);

}  // namespace loopsmith
