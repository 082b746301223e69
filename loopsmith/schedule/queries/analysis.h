// SPDX-License-Identifier: Apache-2.0
// Questions about a scheduled program that many primitives ask.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The loops around a node, outermost first, up to the block around it.
Handles<LoopRV> loops_around(const Schedule& schedule, NodeId node);

/// The loop over that variable, which there is.
LoopRV loop_of_var(const Schedule& schedule, std::uint32_t function, const Ptr<Var>& variable);
/// The loops over these variables, in their order.
Handles<LoopRV> loops_of_vars(const Schedule& schedule, std::uint32_t function,
                              std::span<const Ptr<Var>> variables);

/// The innermost block around a node; none at the top of a function without a root block.
std::optional<BlockRV> block_around(const Schedule& schedule, NodeId node);

/// True when `node` is `ancestor` or inside it.
bool is_inside(const Schedule& schedule, NodeId node, NodeId ancestor);

/// The innermost node that holds both, which may be one of them.
NodeId common_ancestor(const Schedule& schedule, NodeId a, NodeId b);

/// The child of `ancestor` in which `node` is, or `node` itself.
NodeId child_towards(const Schedule& schedule, NodeId node, NodeId ancestor);

/// True when `a` stands before `b` in the text of the program.
bool is_before(const Schedule& schedule, NodeId a, NodeId b);

/// The only statement inside a node, if that has a node of its own; none when there are more.
NodeId only_child(const Schedule& schedule, NodeId node);

/// The loops directly inside a node, not through another loop or block.
Handles<LoopRV> child_loops(const Schedule& schedule, NodeId node);

/// The first reduction that starts in an iteration of the loop.
std::optional<BlockRV> reduction_started_in(const Schedule& schedule, LoopRV loop);

/// True when an axis of that type is bound to a value that uses the variable.
bool binds_axis(const BlockRealize& realize, const Ptr<Var>& var, IterType type);

/// The blocks inside a node that have no other block around them there, in order.
Handles<BlockRV> child_blocks(const Schedule& schedule, NodeId node);

bool contains(const Handles<BlockRV>& blocks, BlockRV block);

/// True when the block reads, or writes, the buffer, by its regions.
bool reads_buffer(const Block& block, const Ptr<Buffer>& buffer);
bool writes_buffer(const Block& block, const Ptr<Buffer>& buffer);

/// The blocks of the same scope that write what `block` reads or writes and stand before it; those
/// that read or write what it writes and stand after it.
Handles<BlockRV> producers_of(const Schedule& schedule, BlockRV block);
Handles<BlockRV> consumers_of(const Schedule& schedule, BlockRV block);

/// The blocks of a scope (a block, or the top of a function) that read, or write, `buffer`.
Handles<BlockRV> readers_of(const Schedule& schedule, NodeId scope, const Ptr<Buffer>& buffer);
Handles<BlockRV> writers_of(const Schedule& schedule, NodeId scope, const Ptr<Buffer>& buffer);

/// The node of the block around `node`, or of the function.
NodeId scope_of(const Schedule& schedule, NodeId node);

/// True when the block writes a buffer that is not allocated by the block around it.
bool is_output_block(const Schedule& schedule, BlockRV block);

/// The buffer of a block that a selector means, with its place among the reads or writes; none when
/// there is no such buffer. `side` is what a number without a side counts in.
struct SelectedBuffer {
  Ptr<Buffer> buffer;
  std::size_t index;
  bool is_write;
};
std::optional<SelectedBuffer> select_buffer(const Block& block, const BufferSelector& selector,
                                            BufferSelector::Side side);

}  // namespace loopsmith
