// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/nontemporal_stores.h"

#include <algorithm>

#include "loopsmith/rules/prefetch.h"

namespace loopsmith {
namespace {

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

Stmt mark_nontemporal_stores(const Stmt& stmt, const std::vector<Nest>& nests) {
  Stmt marked = stmt;
  for (const Nest& nest : nests) {
    for (const Ptr<Buffer>& buffer : nest.streamed) {
      marked = make(AttrStmt{
          .node = buffer, .attr_key = "nontemporal", .value = 1, .body = std::move(marked)});
    }
  }
  return marked;
}

}  // namespace loopsmith
