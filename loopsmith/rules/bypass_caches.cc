// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/bypass_caches.h"

#include <algorithm>

namespace loopsmith {
namespace {

bool is_larger_than(const Buffer& buffer, std::int64_t limit) {
  std::int64_t bytes = buffer.dtype.bytes();
  for (const Expr& extent : buffer.shape) {
    const std::int64_t* constant = as_int(extent);
    if (!constant || __builtin_mul_overflow(bytes, *constant, &bytes)) return false;
  }
  return bytes > limit;
}

bool is_read(const Program& program, const Ptr<Buffer>& buffer) {
  return program.used_by_opaque(buffer) ||
         std::ranges::any_of(program.parts, [&](const Part& part) {
           return part.nest && reads(*part.nest, buffer);
         });
}

}  // namespace

Stmt bypass_caches(const Stmt& stmt, const std::vector<Nest>& nests, const Program& program,
                   const Machine& machine) {
  Stmt marked = stmt;
  for (const Nest& nest : nests) {
    if (!nest.reduction().empty()) continue;
    for (const Ptr<Buffer>& buffer : written_buffers(nest)) {
      if (program.is_local(buffer) || !is_larger_than(*buffer, machine.cache_bytes) ||
          is_read(program, buffer)) {
        continue;
      }
      marked = make(AttrStmt{
          .node = buffer, .attr_key = "nontemporal", .value = 1, .body = std::move(marked)});
    }
  }
  return marked;
}

}  // namespace loopsmith
