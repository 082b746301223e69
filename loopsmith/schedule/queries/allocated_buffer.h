// SPDX-License-Identifier: Apache-2.0
// Which memory a step means by the name of a buffer and a loop that uses it.
#pragma once
#include <optional>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A buffer, and what allocates it: a block, or a declaration in a statement that allocates.
struct AllocatedBuffer {
  Ptr<Buffer> buffer;
  NodeId owner = no_node;

  /// True when a statement among others declares it.
  bool is_declared(const Schedule& schedule) const;
};

/// The buffer that is meant, of those that are allocated in a loop, or else around it, the
/// innermost first: others of the same name lie outside of its scope.
std::optional<AllocatedBuffer> allocated_at(const Schedule& schedule, LoopRV loop,
                                            const BufferSelector& selector);

}  // namespace loopsmith
