// SPDX-License-Identifier: Apache-2.0
// The reads and writes of buffers in a scope, in program order.
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A place in the text of a program: a node, or a statement without a node in it.
struct Place {
  NodeId node = no_node;
  std::uint32_t slot = no_node;  ///< Of the statement; no_node: the node itself.
};

/// A read or write of a buffer: by a block as it declares, or by a statement outside of blocks.
struct BufferAccess {
  const Buffer* buffer = nullptr;
  bool is_write = false;
  bool is_block = false;
  bool by_view = false;  ///< What is accessed is another buffer in the same memory.
  Place place;
  const BufferRegion* region = nullptr;  ///< Of a block, in terms of its axes; all of it by a view.
  const std::vector<Expr>* indices = nullptr;  ///< Of a statement, in terms of loops.
};

/// The accesses in a scope (a block, or the top of a function) in program order. Nested blocks
/// count by the regions that the outer ones declare. A block with an init reads what it updates
/// where others in the scope write it as well. An access to one of several buffers that alias
/// may access any element of the others: these accesses come last.
struct ScopeAccesses {
  std::vector<BufferAccess> all;
  std::vector<Ptr<BufferRegion>> whole;  ///< Regions of uses by views.
  bool has_jumps = false;                ///< A statement outside of blocks leaves an iteration.
  /// A statement outside of blocks calls what may access anything.
  bool has_foreign_calls = false;
  /// A bound, a condition, or the place of a block reads memory that the scope writes.
  bool decides_on_own_writes = false;

  /// True when what runs, or what it accesses, depends on more than loops and sizes.
  bool is_dynamic() const { return has_foreign_calls || decides_on_own_writes; }
};

/// Reads the scope whose node is `scope`.
ScopeAccesses accesses_in_scope(const Schedule& schedule, NodeId scope);

/// True when `a` stands before `b`, and neither is inside the other.
bool is_before(const Schedule& schedule, const Place& a, const Place& b);

/// True when the place is `ancestor` or inside it.
bool is_inside(const Schedule& schedule, const Place& place, NodeId ancestor);

}  // namespace loopsmith
