// SPDX-License-Identifier: Apache-2.0
// What is certain to be written into a cache: what primitives that copy it back ask.
#pragma once
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

/// What the writers of the subject are certain to write while the loops inside `around` run; a
/// refusal where that is not known.
std::variant<AffineRegion, Refusal> written_region(const Schedule& schedule,
                                                   const CacheSubject& subject, NodeId around);

/// True when what the block around says that it reads has all of the box.
bool may_read(const Schedule& schedule, const CacheSubject& subject, const AffineRegion& box);

/// Lets a block, and those around it, say that they read all of a buffer of which they read a part,
/// and write all of one of which they write a part.
void declare_all_used(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer);

/// True when what `reader` reads was stored before it by a statement of the same sequence, that
/// which has `writer`, each time that they run.
bool is_filled_by(const Schedule& schedule, const Ptr<Buffer>& buffer, BlockRV writer,
                  BlockRV reader);
/// True when a writer before `reader` fills what that reads, each time that it comes to it.
bool is_filled_for(const Schedule& schedule, const CacheSubject& subject, BlockRV reader);

/// True when a reduction in the block starts outside of the scope, or in another part of a loop:
/// then it goes on with what was left there.
bool continues_reduction(const Schedule& schedule, BlockRV scope, BlockRV block);

/// True when each element of `box` has a value at `place`: it is an input, or writers of the
/// subject that stand before are certain to write it.
bool is_written_before(const Schedule& schedule, const CacheSubject& subject,
                       const AffineRegion& box, const CopyPlace& place);

/// True when a block may run without reading the buffer, or not run at all: then a copy for it may
/// take elements never written.
bool may_skip(const BlockRealize& realize, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
