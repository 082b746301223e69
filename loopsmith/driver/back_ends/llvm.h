// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// Machine code through LLVM.
const BackEnd& llvm_back_end();

}  // namespace loopsmith
