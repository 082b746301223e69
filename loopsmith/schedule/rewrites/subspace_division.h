// SPDX-License-Identifier: Apache-2.0
// Division of block axes into an outer part, bound to loops outside of a place, and an inner part.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

/// Axes of a block, with their bindings.
struct BoundAxes {
  std::vector<Ptr<IterVar>> axes;
  std::vector<Expr> values;
};

/// The result for one block.
struct DividedBlock {
  BoundAxes inner;
  Expr outer_predicate = true;  ///< The conditions about loops outside alone.
  Expr inner_predicate = true;  ///< The others, in terms of loops inside and outer axes.
  IndexForms forms;             ///< What the old axes are in terms of the new ones.
};

/// Divides the axes of the blocks that stand at one place. They share the outer axes that are the
/// same.
class SubspaceDivider {
 public:
  /// `outer` are the loops around the place. Axes of one value are left out unless
  /// `preserve_unit_iters`.
  SubspaceDivider(const Schedule& schedule, std::vector<LoopRV> outer, bool preserve_unit_iters)
      : schedule_(schedule), outer_(std::move(outer)), preserve_unit_iters_(preserve_unit_iters) {}

  /// Divides the axes of a block, which stands in the loops `inner` at the place.
  std::optional<DividedBlock> divide(BlockRV block, const std::vector<LoopRV>& inner);
  /// Why the last block could not be divided.
  const std::string& problem() const { return problem_; }

  /// The axes of what is around all blocks.
  const BoundAxes& outer_axes() const { return outer_axes_; }

  /// An expression with outer axes for the loops outside; null where these do not determine it.
  Expr in_axes(const Expr& expr);

 private:
  struct Parts;
  std::nullopt_t fail(std::string problem);
  bool uses_any(const Expr& expr, const std::vector<LoopRV>& loops) const;
  bool divide_mixed(const BlockRealize& realize, const std::vector<LoopRV>& inner,
                    std::vector<Parts>& parts);
  bool add_axis(const IterVar& axis, const Expr& value, const Parts& parts, DividedBlock& made);
  bool divide_conditions(const Expr& predicate, const std::vector<LoopRV>& inner,
                         DividedBlock& made);
  Ptr<Var> outer_axis(IterVar axis, const Expr& value);
  void invert_outer();

  const Schedule& schedule_;
  std::vector<LoopRV> outer_;
  const bool preserve_unit_iters_;
  BoundAxes outer_axes_;
  Substitution loops_;  ///< Loops outside in terms of outer axes.
  std::string problem_;
};

}  // namespace loopsmith
