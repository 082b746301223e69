// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// Kernels in CUDA C++, as source for the driver of a device.
const BackEnd& cuda_back_end();

}  // namespace loopsmith
