// SPDX-License-Identifier: Apache-2.0
// The kinds of devices. Private to the floor.
#pragma once
#include <memory>

#include "loopsmith/runtime/device.h"

namespace loopsmith {

std::shared_ptr<Device> open_opencl(int number);
int opencl_count();
std::shared_ptr<Device> open_cuda(int number);
int cuda_count();
/// Of NVRTC, which makes cubins and PTX.
std::string cuda_compiler_version();

}  // namespace loopsmith
