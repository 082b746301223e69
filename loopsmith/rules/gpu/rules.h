// SPDX-License-Identifier: Apache-2.0
// The rules by which blocks are scheduled for the blocks and threads of a GPU. Each is asked about
// a block that no other has bound, and binds it and what it moves there; where the nest is of
// another form, or a step is refused, it takes no step.
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Elements that are read once, or by neighbours, are computed where they are read. The first step
/// of all.
void inline_stages(Schedule& schedule);

/// Elements of rows, made of what was reduced of the same rows.
bool fuse_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Sums of products whose operands each lack an axis of the result.
bool tile_product(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Long reductions to few results.
bool cut_long_reduction(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Reductions across what lies side by side.
bool reduce_columns(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Reductions along what lies side by side.
bool reduce_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Short reductions: each thread does one alone, and what is made of the result.
bool reduce_in_threads(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Elements read across what they are written along.
bool transpose_tiles(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Points that are independent of each other.
bool bind_elements(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// Loops of which each iteration needs the value of the one before.
bool scan_parts(Schedule& schedule, const Subject& subject, const RuleContext& context);
/// All else.
bool bind_what_may(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
