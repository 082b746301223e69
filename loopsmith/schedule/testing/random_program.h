// SPDX-License-Identifier: Apache-2.0
// For tests only: programs drawn from a grammar of loop nests.
#pragma once
#include <cstdint>
#include <string>

#include "loopsmith/ir/function.h"

namespace loopsmith::schedule_testing {

/// A program as script: nests of up to four loops that stand beside and in each other, with blocks
/// and without. The same for the same seed. Few of them read what was not written, or leave a
/// buffer; who needs more asks the judge.
std::string random_script(std::uint64_t seed);

Ptr<PrimFunc> random_program(std::uint64_t seed);

}  // namespace loopsmith::schedule_testing
