// SPDX-License-Identifier: Apache-2.0
// Access relations: which element each load and store accesses, as a function of the loops.
#pragma once
#include <unordered_set>
#include <vector>

#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class ChangedAccesses;

/// A load or a store, its indices in terms of loops.
struct ElementAccess {
  const Buffer* buffer = nullptr;
  bool is_write = false;
  const Object* group = nullptr;  ///< The reduction whose own result it is; null for others.
  std::vector<std::optional<IndexForm>> indices;
};

/// The accesses inside a node.
struct ElementAccesses {
  std::vector<ElementAccess> all;
  IndexForms forms;
  std::unordered_set<const Object*> inside;  ///< Variables that are defined inside.
  std::unordered_set<const Object*> owned;   ///< Buffers that are allocated inside.
  std::vector<Ptr<Var>> offsets;             ///< Of elements in the regions of views.
  bool by_pointer = false;                   ///< Some go through pointers to unknown memory.
  std::string opaque;                        ///< A statement that may access anything; or empty.
  bool is_steered = false;  ///< Indices, bounds or conditions read some of the memory.
};

/// Reads what is inside a node of a schedule; with `changed`, the accesses to that memory alone.
ElementAccesses accesses_inside(const Schedule& schedule, NodeId node,
                                const ChangedAccesses* changed = nullptr);
/// The same of a block's body and init, in terms of its axes.
ElementAccesses accesses_of_block(const Schedule& schedule, BlockRV block);
/// Those of a block that is in no schedule yet; pointers defined around it are unknown.
ElementAccesses accesses_of_block(const Block& block);

}  // namespace loopsmith
