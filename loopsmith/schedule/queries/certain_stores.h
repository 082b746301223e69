// SPDX-License-Identifier: Apache-2.0
// What a statement stores to one buffer whenever it runs, in terms of the loops in it.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "loopsmith/schedule/queries/affine_interval.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// `value < limit`
struct StoreLimit {
  IndexForm value;
  Expr limit;
};

/// A store that runs with all values of the loops inside that keep to the limits.
struct CertainStore {
  std::vector<std::optional<IndexForm>> indices;
  std::vector<StoreLimit> limits;
  bool is_conditional = false;  ///< It may be left out for another reason, too.
};

struct CertainStores {
  std::vector<CertainStore> all;
  IndexForms forms;      ///< What variables stand for, and run through.
  InnerVariables inner;  ///< Those of loops and threads inside.
  std::unordered_map<const Object*, const For*> loops;  ///< Those inside, by their variables.
  std::vector<Ref> made;  ///< Variables and loops in place of those of the program.
};

/// The stores in the statement of node `from` to the buffer. Where axes are given, a store counts
/// as one to the element that they are.
CertainStores certain_stores(const Schedule& schedule, NodeId from, const Ptr<Buffer>& stored,
                             const std::vector<Ptr<Var>>* axes);

}  // namespace loopsmith
