// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/op.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

using Tuple = KnownReducer::Tuple;

/// Values that are combined together, one or a few, such as an extreme and its index:
/// `targets[indices] = combine(targets[indices], sources)`, only where `condition` holds.
struct TupleCombination {
  std::vector<Ptr<Buffer>> targets;
  std::vector<Expr> indices;  ///< The same for all of them.
  Tuple sources;
  Expr condition;  ///< Null: always.
  Tuple initial;   ///< What the reduction starts from.
  Tuple neutral;   ///< What changes nothing.
  const KnownReducer* reducer = nullptr;
  const KnownReducer* joiner = nullptr;  ///< Of partial results, in whatever order.
  std::optional<Op> across_lanes;        ///< The call that combines all lanes of a vector.

  /// The sources for these values of the axes, neutral where `mask` (may be null) is false.
  Tuple sources_at(const Substitution& values, const Expr& mask) const;
};

/// buffers[indices] = reducer(x, y); all are computed before the first is stored.
Stmt store_combined(const std::vector<Ptr<Buffer>>& buffers, const std::vector<Expr>& indices,
                    const KnownReducer& reducer, const Tuple& x, const Tuple& y);

/// What a nest with an init reduces by, if partial results of it may be combined in any order.
std::optional<TupleCombination> tuple_combination_of(const Nest& nest);

}  // namespace loopsmith
