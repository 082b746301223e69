// SPDX-License-Identifier: Apache-2.0
// What is searched of a program that comes without a space.
#pragma once
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/tune/spaces/block_rule.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {

/// The generated space for processors,
Space generated();
/// for GPUs,
Space generated_for_gpu();
/// and for a target, with rules for blocks beside its own ways.
Space generated_for(const Target& target, const std::vector<BlockRule>& rules = {});

/// The generated space beside the default schedule, whose numbers are then samples. Where there is
/// no default schedule, the former alone.
Space with_default(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options,
                   const std::vector<BlockRule>& rules = {});

/// The space of a program for which none is given; under a lock of numerics, which no default
/// schedule keeps, the generated one.
Space own_space(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options,
                Numerics numerics, const std::vector<BlockRule>& rules = {});

}  // namespace loopsmith::tune
