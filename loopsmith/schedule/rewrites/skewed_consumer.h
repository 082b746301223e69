// SPDX-License-Identifier: Apache-2.0
// Skewing: a stencil consumer fused into a loop of its producers, lagging behind them.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/queries/loop_extension.h"
#include "loopsmith/schedule/rewrites/required_instances.h"

namespace loopsmith {

/// A region that a block reads, and the box of that buffer that an iteration of the loop computes.
struct ComputedInput {
  const BufferRegion* read;
  ElementRegion box;
};

/// A consumer that lags behind the iterations that produce its inputs.
struct SkewedConsumer {
  RequiredInstances instances;
  std::vector<LoopExtension> extensions;  ///< For the instances left after the last producer.
};

/// The instances of a block that can run in one iteration of `loop` and in none before, as it
/// computes the last of what they read; nullopt where that is not understood.
std::optional<SkewedConsumer> skewed_consumer(const Schedule& schedule, BlockRV block, LoopRV loop,
                                              std::span<const ComputedInput> inputs,
                                              const Instances& instances);

}  // namespace loopsmith
