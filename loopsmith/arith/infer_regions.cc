// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/infer_regions.h"

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

Ptr<Block> completed(const Ptr<Block>& block, const BufferOfPointer& buffers) {
  const std::int64_t what = block->annotations.get_int(detect_access, 0);
  if (what == 0) return block;
  AccessRegions regions = access_regions(*block, buffers);
  require(regions.opaque.empty(), ErrorKind::user, "regions_can_be_found",
          hint("write down what the block reads and writes"), block.span(),
          "block {}: it reaches buffer {} through its pointer", block->name_hint,
          regions.opaque.empty() ? "" : regions.opaque[0]->name);
  Block copy = *block;
  copy.annotations = copy.annotations.with(detect_access, nullptr);
  if (what & 1) copy.reads = std::move(regions.reads);
  if (what & 2) copy.writes = std::move(regions.writes);
  return make(std::move(copy));
}

}  // namespace

Ptr<Block> detect_regions(const Ptr<Block>& block, int what) {
  Block copy = *block;
  copy.annotations = copy.annotations.with(detect_access, int_imm(i64, what));
  return make(std::move(copy));
}

Ptr<PrimFunc> infer_regions(const Ptr<PrimFunc>& func) {
  const BufferOfPointer buffers = buffers_by_pointer(*func);
  Rewriter rewrite;
  // Blocks inside first: they count by what they declare.
  rewrite.on<Block>(
      [&](const Block& block) -> Ref { return completed(rewrite.children(block), buffers); });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
