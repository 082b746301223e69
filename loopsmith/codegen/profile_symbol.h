// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The symbol of the LoopCounters of a timed statement; see transform/profile_loops.h.
inline std::string profile_symbol(const AttrStmt& timed) {
  return "ls_profile_" + timed.node.as<StringImm>()->value + "." +
         std::to_string(*as_int(timed.value));
}

}  // namespace loopsmith
