// SPDX-License-Identifier: Apache-2.0
// Buffers that get a dimension for the iterations of a loop.
#pragma once
#include <map>
#include <optional>

#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {

/// The number of the iteration of a loop.
Expr iteration_of(const For& loop);

/// Uses inside a loop, by the innermost block around each; no_node: outside of blocks.
using UsesByBlock = std::map<NodeId, BufferAccesses>;

/// The uses of a buffer among `nodes`, all of them inside the loop; nullopt where a binding or a
/// condition of a block has one.
std::optional<UsesByBlock> uses_by_block(const Schedule& schedule, LoopRV loop,
                                         const std::vector<NodeId>& nodes,
                                         const Ptr<Buffer>& buffer);

/// `buffer` with a first dimension of `iterations`, under that name.
Ptr<Buffer> with_iterations(const Buffer& buffer, std::string name, const Expr& iterations);

/// Lets these uses of `from` use `to` with the number of the iteration as first index. Blocks get
/// an axis for it where they have none.
void add_iteration_dimension(Schedule& schedule, LoopRV loop, const UsesByBlock& uses,
                             const Ptr<Buffer>& from, const Ptr<Buffer>& to);

/// True when an expression in front of a loop means the same at `owner`, around it.
bool is_known_at(const Schedule& schedule, NodeId owner, NodeId loop, const Expr& expr);

}  // namespace loopsmith
