// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// What a piece of program accesses. One region for each buffer, in order of first appearance.
struct AccessRegions {
  std::vector<Ptr<BufferRegion>> reads;
  std::vector<Ptr<BufferRegion>> writes;
  std::vector<Ptr<Buffer>> opaque;  ///< Reached through their pointer: anything may happen to them.
};

/// Buffers by their pointer.
using BufferOfPointer = std::unordered_map<Ref, Ptr<Buffer>, RefHash, RefEqual>;

/// The buffers defined in `func`, by their pointer.
BufferOfPointer buffers_by_pointer(const PrimFunc& func);

/// The boxes of elements that `block` reads and writes, in terms of its axes: loops inside it are
/// covered whole, blocks inside it count by what they declare, the regions of one buffer are joined
/// into their smallest common box. A buffer that a block with `init` writes is not among its reads.
AccessRegions access_regions(const Block& block, const BufferOfPointer& buffers = {});

}  // namespace loopsmith
