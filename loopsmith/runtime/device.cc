// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/device.h"

#include <map>
#include <mutex>
#include <utility>

#include "loopsmith/runtime/drivers.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

namespace {

constinit thread_local std::uintptr_t chosen_stream = 0;

}  // namespace

std::uintptr_t current_stream() {
  return chosen_stream;
}

std::uintptr_t choose_stream(std::uintptr_t stream) {
  return std::exchange(chosen_stream, stream);
}

std::int64_t Device::tensor_map(const ArrayBoxes&) {
  check(false, "tensor_map", "device {} has no engine that copies tiles", name());
  return 0;
}

std::string LaunchShape::text() const {
  return fmt::format("grid ({}, {}, {}) of blocks ({}, {}, {})", blocks[0], blocks[1], blocks[2],
                     threads[0], threads[1], threads[2]);
}

std::shared_ptr<Device> open_device(DLDevice id) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, std::shared_ptr<Device>> opened;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device>& device = opened[{id.device_type, id.device_id}];
  if (device) return device;
  if (id.device_type == kDLOpenCL) return device = open_opencl(id.device_id);
  require(id.device_type == kDLCUDA, ErrorKind::call, "device_kind_is_known",
          hint("use opencl or cuda"), {}, "device: kind {} is neither OpenCL nor CUDA",
          static_cast<int>(id.device_type));
  return device = open_cuda(id.device_id);
}

int device_count(DLDeviceType kind) {
  try {
    return kind == kDLOpenCL ? opencl_count() : kind == kDLCUDA ? cuda_count() : 0;
  } catch (const UserError&) {
    return 0;
  }
}

DLDevice parse_device(std::string_view kind, int number) {
  DLDevice device{kDLCPU, number};
  if (kind == "opencl") device.device_type = kDLOpenCL;
  if (kind == "cuda") device.device_type = kDLCUDA;
  require(device.device_type != kDLCPU || kind == "cpu", ErrorKind::call, "device_kind_is_known",
          hint("use cpu, opencl or cuda"), {}, "device: there is no kind '{}'", kind);
  return device;
}

}  // namespace loopsmith
