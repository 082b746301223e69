// SPDX-License-Identifier: Apache-2.0
// A loop that is cut into parts of equal work, which is counted before it runs.
#pragma once
#include <vector>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// What the iterations of the inner loop all update: an element of their outer iteration.
struct ElementUpdate {
  Ptr<Buffer> buffer;
  Combiner combiner = Combiner::sum;
  std::vector<Expr> indices;
};

struct WorkPartsRequest {
  For loop;
  std::int64_t parts = 0;
  Expr cost;  ///< Of an iteration, int64, in terms of the loop's variable; not negative.
  /// What costs of iterations are differences of: it grows from each to the next by the cost, where
  /// the cost is not 0 for what would be negative. Null where that is not known.
  Expr sum = {};
  /// Parts may end inside of an iteration, whose body is a loop that makes these updates alone.
  bool cuts_iterations = false;
  std::vector<ElementUpdate> updates = {};
  bool has_own_elements = false;  ///< Iterations never conflict: the parts are annotated so.
};

struct WorkParts {
  Stmt statement;
  Ptr<Var> part;                     ///< Of the loop over the parts.
  std::vector<Ptr<Buffer>> buffers;  ///< To be allocated around.
};

/// Makes the statements; names are fresh in that function.
WorkParts work_parts(Schedule& schedule, std::uint32_t function, WorkPartsRequest request);

}  // namespace loopsmith
