// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_end.h"

#include <unistd.h>

#include "loopsmith/runtime/kernel/sources.h"

namespace loopsmith {

const BackEnd& back_end_of(const Target& target) {
  if (target.kind() == TargetKind::llvm) return llvm_back_end();
  require(target.kind() == TargetKind::c, "target_not_built", hint("build for llvm or c"),
          "build: code for {} is not generated yet", to_string(target.kind()));
  return c_back_end();
}

std::int64_t own_core_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : Machine().core_cache_bytes;
}

std::string weak_kernel_source() {
  return "#define LS_RUNTIME_FUNCTION __attribute__((weak))\n" + kernel_source();
}

}  // namespace loopsmith
