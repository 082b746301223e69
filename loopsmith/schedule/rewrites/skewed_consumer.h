// SPDX-License-Identifier: Apache-2.0
// A reader of neighbours at a loop of its producers: it lags behind what they have computed.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/queries/loop_extension.h"
#include "loopsmith/schedule/rewrites/required_instances.h"

namespace loopsmith {

/// What a block reads of a buffer, and the box of it that an iteration of the loop computes.
struct ComputedInput {
  const BufferRegion* read;
  ElementRegion box;
};

/// A block that runs later than the iterations that compute most of what it reads.
struct SkewedConsumer {
  RequiredInstances instances;
  std::vector<LoopExtension> extensions;  ///< For what is left when the producers are done.
};

/// The instances of a block that can run in one iteration of `loop` and in none before, as it
/// computes the last of what they read; nullopt where that is not understood.
std::optional<SkewedConsumer> skewed_consumer(const Schedule& schedule, BlockRV block, LoopRV loop,
                                              std::span<const ComputedInput> inputs,
                                              const Instances& instances);

}  // namespace loopsmith
