// SPDX-License-Identifier: Apache-2.0
// Elements that iterations of a loop update in common.
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The buffers of which several iterations may update one element.
std::vector<Ptr<Buffer>> updated_in_common(const Schedule& schedule, LoopRV loop);

/// True when a statement before the loop is certain to write all of the buffer, which `owner`
/// allocates.
bool is_set_before(const Schedule& schedule, LoopRV loop, NodeId owner, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
