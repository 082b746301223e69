// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/nontemporal_stores.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives/annotate.h"

namespace loopsmith {
namespace {

/// True for a buffer of constant shape that is larger than the caches.
bool exceeds_caches(const Buffer& buffer, const CpuModel& machine) {
  std::int64_t bytes = buffer.dtype.bytes();
  for (const Expr& extent : buffer.shape) {
    const std::int64_t* constant = as_int(extent);
    if (!constant || __builtin_mul_overflow(bytes, *constant, &bytes)) return false;
  }
  return bytes > machine.cache_bytes;
}

bool is_read(const Program& program, const Ptr<Buffer>& buffer) {
  return program.used_by_opaque(buffer) ||
         std::ranges::any_of(program.parts, [&](const Part& part) {
           return part.nest && reads(*part.nest, buffer);
         });
}

}  // namespace

std::vector<Ptr<Buffer>> nontemporal_outputs(const Nest& nest, const Program& program,
                                             const CpuModel& machine) {
  std::vector<Ptr<Buffer>> found;
  if (!nest.reduction().empty()) return found;
  for (const Ptr<Buffer>& buffer : written_buffers(nest)) {
    if (!program.is_local(buffer) && exceeds_caches(*buffer, machine) &&
        !is_read(program, buffer)) {
      found.push_back(buffer);
    }
  }
  return found;
}

void stream(Schedule& schedule, const Nest& nest, LoopRV loop, const CpuModel& machine) {
  if (machine.streamed_bytes == 0 || nest.streamed.empty() ||
      nest.streamed.size() != written_buffers(nest).size()) {
    return;
  }
  annotate(schedule, loop, "pragma_nontemporal", machine.prefetch_bytes);
}

}  // namespace loopsmith
