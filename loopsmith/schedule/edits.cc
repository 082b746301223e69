// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/edits.h"

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

void replace_buffer(Schedule& schedule, NodeId node, const Ptr<Buffer>& from,
                    const Ptr<Buffer>& to) {
  Rewriter rewrite;
  rewrite.replace_buffer(from, to);
  const Stmt old = schedule.statement(node);
  Stmt renewed = rewrite(old);
  if (!renewed.same_as(old)) schedule.replace(node, std::move(renewed));
}

void allocate_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  schedule.edit(block).alloc_buffers.push_back(buffer);
}

void free_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  std::erase_if(schedule.edit(block).alloc_buffers,
                [&](const auto& other) { return other.same_as(buffer); });
}

void update_regions(Schedule& schedule, BlockRV handle) {
  AccessRegions found = access_regions(schedule.get(handle));
  Block& block = schedule.edit(handle);
  block.reads = std::move(found.reads);
  block.writes = std::move(found.writes);
}

}  // namespace loopsmith
