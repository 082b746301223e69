// SPDX-License-Identifier: Apache-2.0
// What a statement takes when a given loop is its innermost: by strides, lanes and lines of cache.
#pragma once
#include <span>

#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith::plain_loops {

/// Cycles for an iteration of a statement, as plain code and in vectors.
struct IterationCost {
  double scalar = 0;
  double vector = 0;  ///< The same as `scalar` where a form in lanes has no gain by its accesses.
  bool is_chain = false;  ///< An iteration waits for the one before: it has no form in lanes.

  double best() const { return vector < scalar ? vector : scalar; }
};

/// The cost of `statement` with `innermost`, one of the loops around it, inside of the others. What
/// each iteration of that has for itself is in registers.
IterationCost iteration_cost(const Statement& statement, const For& innermost,
                             const Machine& machine, std::span<const Ptr<Buffer>> own = {});

/// How many elements of what the statement stores are in a vector.
int lanes_of(const Statement& statement, const Machine& machine);

}  // namespace loopsmith::plain_loops
