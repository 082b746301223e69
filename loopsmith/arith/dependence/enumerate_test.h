// SPDX-License-Identifier: Apache-2.0
// Small programs run step by step, with a record of each access: what dependence analysis is held
// against. It shares no code with it.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::testing {

/// Where an access stands in the run: the positions in sequences and conditions and the iterations
/// of loops, from the outside in.
struct Step {
  const Object* loop;      ///< The variable of a loop; null for a position.
  std::int64_t iteration;  ///< Or the position.
};

struct RecordedAccess {
  const Object* statement;
  const Object* buffer;
  std::vector<std::int64_t> element;
  bool writes;
  std::vector<Step> steps;
  std::vector<std::pair<const Object*, std::int64_t>> values;  ///< Of the loops' variables.
};

/// The accesses of a run, in their order: loads of a store before it. Buffers hold zeros.
std::vector<RecordedAccess> enumerate(const Stmt& root,
                                      const std::map<const Object*, std::int64_t>& sizes);

}  // namespace loopsmith::testing
