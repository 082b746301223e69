// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_end.h"

#include <unistd.h>

#include "loopsmith/runtime/kernel/sources.h"

namespace loopsmith {

const BackEnd& back_end_of(const Target& target) {
  switch (target.kind()) {
    case TargetKind::c: return c_back_end();
    case TargetKind::opencl: return opencl_back_end();
    case TargetKind::cuda: return cuda_back_end();
    case TargetKind::llvm: break;
  }
  return llvm_back_end();
}

std::int64_t own_core_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : CpuModel().core_cache_bytes;
}

std::string weak_kernel_source() {
  return "#define LS_RUNTIME_FUNCTION __attribute__((weak))\n" + kernel_source();
}

}  // namespace loopsmith
