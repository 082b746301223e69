// SPDX-License-Identifier: Apache-2.0
// A block at a new place: which instances run there, and the loops that run them.
#pragma once
#include <vector>

#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/block_kinds.h"
#include "loopsmith/schedule/index_form.h"

namespace loopsmith {

/// Elements of a buffer, in each dimension from `min` to `max`; an end is null where it is open.
using ElementBox = std::vector<arith::Interval>;

/// Values that do not change while the inner loops of a place run: bounds over these loops.
class Relaxer {
 public:
  /// For expressions at `node`, inside `loop`. Loops between the two are relaxed, and those around
  /// them that are threads among which memory of `scope` is shared.
  Relaxer(const Schedule& schedule, NodeId node, LoopRV loop, std::string_view scope);

  /// From here on, an axis of a block at the node means its value there.
  void bind(const Ptr<Var>& axis, const Expr& value);
  /// The least and the largest value; null where none is known.
  arith::Interval operator()(const Expr& expr) const;

 private:
  std::optional<arith::Interval> of_form(const IndexForm& form, DataType type) const;
  arith::Interval of_any(const Expr& expr) const;
  bool is_relaxed(const Expr& expr) const;

  IndexForms forms_;
  Substitution values_;
  arith::Intervals relaxed_;
};

/// The elements that a use inside `loop` touches while one iteration of that loop runs: by all
/// threads among which memory of `scope` is shared; `local`: by one.
ElementBox box_of(const Schedule& schedule, const BufferUse& use, LoopRV loop,
                  std::string_view scope);

/// A box with all elements of both.
ElementBox join(const ElementBox& a, const ElementBox& b);

/// The values of each axis for which a block may touch an element of `box` in `region`, which is
/// in terms of its axes; both ends null: any value.
std::vector<arith::Interval> axes_touching(const Block& block, const BufferRegion& region,
                                           const ElementBox& box);

/// What one axis runs through at a new place.
struct AxisRun {
  Expr min;
  Expr extent;
  std::vector<Expr> guards;  ///< Conditions on the value, which is `value` in them.
};

/// A block at a new place.
struct NewPlace {
  std::vector<AxisRun> axes;
  std::vector<Ptr<Var>> values;  ///< Stand for the values of the axes in conditions.
  std::vector<Expr> conditions;
};

/// The instances of a block whose axes have these values, inside one iteration of `loop`. Those
/// that do not run now do not run there either.
NewPlace instances_within(const Schedule& schedule, BlockRV block, LoopRV loop,
                          const std::vector<arith::Interval>& axes, const Instances& instances);

/// The loops ax0, ax1, ... with the block in them. Loops of one iteration are left out unless
/// `preserve_unit_loops`.
Stmt nest_of(Schedule& schedule, BlockRV block, const NewPlace& place, bool preserve_unit_loops);

}  // namespace loopsmith
