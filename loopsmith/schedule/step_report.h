// SPDX-License-Identifier: Apache-2.0
// What a step says of its own work, and what is asked of its results.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/arith/dependence/mirror.h"
#include "loopsmith/schedule/handles.h"

namespace loopsmith {

/// A block with an init, of which a step makes two.
struct PartedInit {
  BlockRV block;    ///< Before the step the block, after it what is left of it.
  Ptr<Block> init;  ///< What does the init. Its axes are the block's spatial ones, in their order.
};

/// A step whose results are those of before by the law: asked of this scope, unless a quick answer
/// settles it.
struct Preservation {
  std::uint32_t scope = ~0U;  ///< The node of the scope.
  bool is_proved = false;
};

/// What the commit of a step reports.
struct StepReport {
  std::vector<Mirror> mirrors;            ///< Buffers that have copies of elements of others.
  std::optional<PartedInit> parted_init;  ///< A block that has its init apart from here on.
};

}  // namespace loopsmith
