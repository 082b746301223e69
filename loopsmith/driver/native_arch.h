// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/target.h"

namespace loopsmith {

/// `cuda -arch=native` for the first GPU of this machine: `cuda -arch=sm_90a`. Other targets are as
/// they were. Throws a CallError where there is no GPU with CUDA.
Target with_native_arch(const Target& target);

}  // namespace loopsmith
