// SPDX-License-Identifier: Apache-2.0
// Loops that stand beside each other: what steps on several loops are drawn of.
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/schedule/testing/draw.h"

namespace loopsmith::schedule_testing {

/// Pairs of loops of which one follows the other, or that are as deep in nests that do.
std::vector<std::vector<LoopRV>> neighbours(const Schedule& schedule,
                                            const std::vector<LoopRV>& loops);

/// Each loop with some of the later ones of its sequence.
std::vector<std::vector<LoopRV>> siblings(Draw& draw, const Schedule& schedule,
                                          const std::vector<LoopRV>& loops);

/// The names of the blocks and loops of the sequence in which a node stands; of none, none.
std::vector<Argument> sibling_names(const Schedule& schedule, NodeId node);

}  // namespace loopsmith::schedule_testing
