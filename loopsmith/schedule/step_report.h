// SPDX-License-Identifier: Apache-2.0
// What a step says of its own work, and what is asked of its results.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/arith/dependence/mirror.h"
#include "loopsmith/schedule/handles.h"

namespace loopsmith {

/// A block of which a step makes two: each of its instances is one of `first` and then one of what
/// is left. Where `first` is the init, its axes are the block's spatial ones, in their order, and
/// the others' are the block's.
struct PartedBlock {
  BlockRV block;                      ///< Before the step the block, after it what is left of it.
  Ptr<Block> first;                   ///< What does the first part of its work.
  std::vector<Expr> first_axes = {};  ///< The values of its axes, in terms of the block's,
  std::vector<Expr> rest_axes = {};   ///< and of those of what is left.
};

/// A step whose results are those of before by the law: asked of this scope, unless a quick answer
/// settles it.
struct Preservation {
  std::uint32_t scope = ~0U;  ///< The node of the scope.
  bool is_proved = false;
};

/// What the commit of a step reports.
struct StepReport {
  std::vector<Mirror> mirrors;        ///< Buffers that have copies of elements of others.
  std::optional<PartedBlock> parted;  ///< A block whose work is done by two from here on.
};

}  // namespace loopsmith
