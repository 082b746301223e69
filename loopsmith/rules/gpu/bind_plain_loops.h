// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Binds the loops outside of all others that have no blocks inside, of any kind, each nest as far
/// as its dependences allow: loops that may run concurrently to blocks and threads, in one line;
/// those around them are run by the host, which launches what is inside again and again. Where that
/// leaves the host elements to read or write, one thread runs the nest.
void bind_plain_loops(Schedule& schedule, const RuleContext& context);

}  // namespace loopsmith::gpu
