// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// Kernels in OpenCL C, as source for the driver of a device.
const BackEnd& opencl_back_end();

}  // namespace loopsmith
