// SPDX-License-Identifier: Apache-2.0
// What programs are found by, where something is kept of them.
#pragma once
#include <string>

#include "loopsmith/ir/function.h"

namespace loopsmith::tune {

/// A function without a name of its own: how it is called matters to no schedule.
Ptr<PrimFunc> named_main(const Ptr<PrimFunc>& func);
/// The structural hash of a function without its name.
std::string key_of(const Ptr<PrimFunc>& func);

}  // namespace loopsmith::tune
