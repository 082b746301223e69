// SPDX-License-Identifier: Apache-2.0
// Calls of functions of the host.
#pragma once
#include "loopsmith/interp/code.h"

namespace loopsmith::interp {

/// d = what the function of the HostSite `data` returns, for each lane.
Handler host_call_handler();
/// d = a hash of the name and the operands of the HostSite `data`, for each lane.
Handler host_hash_handler();

}  // namespace loopsmith::interp
