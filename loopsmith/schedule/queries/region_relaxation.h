// SPDX-License-Identifier: Apache-2.0
// Relaxation: bounds of expressions and regions over the iterations of inner loops.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/queries/scope_accesses.h"

namespace loopsmith {

/// Elements of a buffer, in each dimension from `min` to `max`; an end is null where it is open.
using ElementRegion = std::vector<arith::Interval>;

/// Bounds of expressions over the inner loops of a place, in terms of variables outside. Values
/// loaded from memory that is written there have no bounds.
class Relaxer {
 public:
  /// For expressions at `node`, inside `loop`. Loops between the two are relaxed, and those around
  /// them that are threads among which memory of `scope` is shared, unless `owner` stands in them,
  /// too.
  Relaxer(const Schedule& schedule, NodeId node, LoopRV loop, MemoryScope scope,
          NodeId owner = no_node);

  /// From here on, an axis of a block at the node means its value there.
  void bind(const Ptr<Var>& axis, const Expr& value);
  /// The least and the largest value; null where none is known.
  arith::Interval operator()(const Expr& expr) const;

 private:
  std::optional<arith::Interval> of_form(const IndexForm& form, DataType type) const;
  arith::Interval of_any(const Expr& expr) const;
  bool is_relaxed(const Expr& expr) const;
  bool reads_what_changes(const Expr& expr) const;

  const For& loop_;
  IndexForms forms_;
  Substitution values_;
  arith::Intervals relaxed_;
};

/// The elements that a use inside `loop` accesses while one iteration of that loop runs: by all
/// threads among which memory of `scope` is shared and in which `owner` does not stand; `local`: by
/// one.
ElementRegion accessed_region(const Schedule& schedule, const BufferAccess& use, LoopRV loop,
                              MemoryScope scope, NodeId owner = no_node);

/// A box with all elements of both.
ElementRegion join(const ElementRegion& a, const ElementRegion& b);

}  // namespace loopsmith
