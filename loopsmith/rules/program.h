// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/nest.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// One statement of a function's root block: a nest that may be scheduled, or something that stays
/// as it is.
struct Part {
  std::optional<Nest> nest;
  Stmt opaque;
  NodeId node = no_node;  ///< The statement, in the schedule that it was read from.
};

/// A function as the rules see it.
struct Program {
  std::vector<Part> parts;
  std::vector<Ptr<Buffer>> locals;  ///< Allocated by the root block: not visible outside.

  bool is_local(const Ptr<Buffer>& buffer) const;
  /// True when a part other than a nest uses the buffer.
  bool used_by_opaque(const Ptr<Buffer>& buffer) const;
};

}  // namespace loopsmith
