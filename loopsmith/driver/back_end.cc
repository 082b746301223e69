// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_end.h"

#include <unistd.h>

#include "loopsmith/runtime/kernel/sources.h"

namespace loopsmith {

std::int64_t own_core_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : CpuModel().core_cache_bytes;
}

std::string weak_kernel_source() {
  return "#define LS_RUNTIME_FUNCTION __attribute__((weak))\n" + kernel_source();
}

}  // namespace loopsmith
