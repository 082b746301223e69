// SPDX-License-Identifier: Apache-2.0
// Edits shared by the commits of several primitives.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Puts `to` in the place of `from` inside a node: in loads, stores, regions, views. Does not
/// change where `from` is allocated.
void replace_buffer(Schedule& schedule, NodeId node, const Ptr<Buffer>& from,
                    const Ptr<Buffer>& to);

/// The block around a node; where there is none, a root block that is put around the function's
/// body. Then the node may be another one.
BlockRV block_around_or_root(Schedule& schedule, NodeId node);

/// Allocates a buffer in a block.
void allocate_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer);

/// Takes a buffer from those that a block allocates, and drops its prefetches there.
void free_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer);

/// Removes the prefetches of a buffer inside a block, with the loops that do nothing else.
void drop_prefetches(Schedule& schedule, BlockRV block, const Buffer& buffer);

/// Recomputes the regions of a block from its body; nested blocks keep theirs.
void update_regions(Schedule& schedule, BlockRV block);

/// The same of a block and of those around it but the outermost, the root of the function.
void update_regions_around(Schedule& schedule, BlockRV block);

/// Puts a statement in the place of one of which a substitution made it: its blocks keep their
/// handles.
void replace_alike(Schedule& schedule, NodeId node, const Stmt& by);

/// Adds which blocks of a statement have taken the place of which, after a substitution in it:
/// those without axes are other objects then.
void add_renewed_blocks(const Stmt& before, const Stmt& after, Schedule::Renewed& renewed);

}  // namespace loopsmith
