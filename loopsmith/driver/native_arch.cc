// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/native_arch.h"

#include "loopsmith/runtime/device.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

Target with_native_arch(const Target& target) {
  if (target.kind() != TargetKind::cuda || target.get("arch") != "native") return target;
  require(device_count(kDLCUDA) > 0, ErrorKind::call, "native_device_exists",
          hint("name an architecture, as in cuda -arch=sm_90a"), {},
          "target {}: there is no GPU with CUDA here whose architecture could be taken",
          target.text());
  Target::Options options = target.options();
  options["arch"] = open_device({kDLCUDA, 0})->arch();
  return {to_string(target.kind()), std::move(options)};
}

}  // namespace loopsmith
