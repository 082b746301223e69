// SPDX-License-Identifier: Apache-2.0
// Attention in stages, as it is written.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::gpu {

/// A block that goes over rows and keys, with the places of its loops that do: batches, too.
struct AttentionStage {
  BlockRV block;
  std::vector<std::size_t> places;  ///< Of each dimension of the scores.
};

/// What is made in turn, and which dimensions of the scores are rows and keys.
struct AttentionStages {
  AttentionStage scores, maximum, exponentials, sum, mix;
  std::size_t rows = 0, keys = 0;
  std::int64_t queries = 0;  ///< Number among the reads of the scores.
};

/// The stages that a product belongs to; none where it is no attention. What is made of elements
/// alone is computed where it is read.
std::optional<AttentionStages> attention_stages(Schedule& schedule, BlockRV mix);

const Ptr<Buffer>& made_by(const Schedule& schedule, BlockRV block);
/// The number of the values among what the product reads.
std::int64_t number_of_values(const Schedule& schedule, const AttentionStages& stages);
/// The loop over rows, keys, or another dimension of the scores.
LoopRV loop_of(const Schedule& schedule, const AttentionStage& stage, std::size_t dimension);
/// The loops of the product over results that share a row of exponentials.
std::vector<LoopRV> columns_of(const Schedule& schedule, const AttentionStage& mix);

/// The loops of a block inside of `place` that have more than one iteration.
std::vector<LoopRV> loops_longer_than_one(Schedule& schedule, BlockRV block, LoopRV place);

}  // namespace loopsmith::gpu
