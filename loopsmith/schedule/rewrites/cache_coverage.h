// SPDX-License-Identifier: Apache-2.0
// Which elements of a cache are certain to be written before they are read or copied back.
#pragma once
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

/// The must-write region of the subject's writers while the loops inside `around` run; a refusal
/// where it is not known.
std::variant<AffineRegion, Refusal> written_region(const Schedule& schedule,
                                                   const CacheSubject& subject, NodeId around);

/// True when the region that the enclosing block declares to read contains the box.
bool may_read(const Schedule& schedule, const CacheSubject& subject, const AffineRegion& box);

/// Widens the regions of a buffer that a block and those around it declare to the whole buffer.
void declare_all_used(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer);

/// True when the elements that `reader` reads are always stored before it by a statement of the
/// same sequence, the one with `writer`.
bool is_filled_by(const Schedule& schedule, const Ptr<Buffer>& buffer, BlockRV writer,
                  BlockRV reader);
/// True when a writer before `reader` always fills the elements that it reads.
bool is_filled_for(const Schedule& schedule, const CacheSubject& subject, BlockRV reader);

/// True when a reduction in the block is initialized outside of the scope, or in another part of a
/// loop: then it reads values that were left there.
bool continues_reduction(const Schedule& schedule, BlockRV scope, BlockRV block);

/// True when each element of `box` has a value at `place`: it is an input, or writers of the
/// subject that stand before are certain to write it.
bool is_written_before(const Schedule& schedule, const CacheSubject& subject,
                       const AffineRegion& box, const CopyPlace& place);

/// True when a block may run without reading the buffer, or not run at all: then a copy for it may
/// read uninitialized elements.
bool may_skip(const BlockRealize& realize, const Ptr<Buffer>& buffer);

/// True when the block in the nest is certain to read the buffer for all values of the axes: then
/// what a copy for these values takes was written.
bool is_read_throughout(const Schedule& schedule, NodeId nest, BlockRV block,
                        const Ptr<Buffer>& buffer, const std::vector<Ptr<IterVar>>& axes);

}  // namespace loopsmith
