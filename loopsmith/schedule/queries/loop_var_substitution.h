// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// What the constant loops around a node, and the node itself if it is a loop, run through.
std::vector<VarRange> ranges_around(const Schedule& schedule, NodeId node);

/// The values of a loop, where its bounds are constant and it runs at all.
std::optional<VarRange> range_of(const For& loop);

/// True when every statement with an effect inside the loop is a block, and bounds and conditions
/// on the way to it may also be evaluated beyond the loop's end: then a guard can go into the
/// `where` of the blocks.
bool holds_blocks_alone(const Schedule& schedule, NodeId node);

/// Substitutes variables in the body of a loop, as `forms` binds them, and guards the body by
/// `predicate`, if it is given: in the `where` of the blocks directly inside, or by an
/// `if` around the body.
void substitute_in_body(Schedule& schedule, LoopRV loop, const IndexForms& forms,
                        const Expr& predicate = nullptr);

/// True when a `break` inside the loop leaves the loop.
bool is_left_by_break(const Schedule& schedule, LoopRV loop);

/// True when a break or a return may end it before its last iteration.
bool is_left_early(const Schedule& schedule, LoopRV loop);
/// True when a `continue` inside the loop ends an iteration of the loop.
bool has_continue(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
