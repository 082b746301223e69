// SPDX-License-Identifier: Apache-2.0
// For tests only.
#pragma once
#include <optional>
#include <string>

#include "loopsmith/ir/function.h"

namespace loopsmith::schedule_testing {

/// How the judge and the interpreter differ on what one program computes; nullopt where they agree.
/// Values that are hashes to both are not compared.
std::optional<std::string> disagreement(const Ptr<PrimFunc>& func);

}  // namespace loopsmith::schedule_testing
