// SPDX-License-Identifier: Apache-2.0
// Statements that are products by their strides: C[i, j] += A[i, k] * B[k, j].
#pragma once
#include <optional>

#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith::plain_loops {

/// The loops of a product, by their numbers among those around the statement: the columns are
/// contiguous, the sum moves no store, and the rows move no load of what is contiguous in the
/// columns.
struct ProductLoops {
  std::size_t rows = 0, sum = 0, columns = 0;

  std::size_t outermost() const { return rows < sum ? rows : sum; }
};

/// The loops of a statement that is a product, among those from number `first` on; their bounds do
/// not read each other.
std::optional<ProductLoops> product_of(const Statement& statement, std::size_t first,
                                       const Machine& machine);

}  // namespace loopsmith::plain_loops
