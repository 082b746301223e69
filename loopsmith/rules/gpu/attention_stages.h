// SPDX-License-Identifier: Apache-2.0
// Attention in stages, as it is written, and its loops over keys made one, by online softmax.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith::gpu {

/// A block that goes over rows and keys, with the places of its loops that do: batches, too.
struct AttentionStage {
  BlockRV block;
  std::vector<std::size_t> places;  ///< Of each dimension of the scores.
};

/// What is made in turn, and which dimensions of the scores are rows and keys.
struct AttentionStages {
  AttentionStage scores, maximum, powers, sum, mix;
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
/// The loops of the product over results that share a row of powers.
std::vector<LoopRV> columns_of(const Schedule& schedule, const AttentionStage& mix);

/// Of which rows, keys, and the columns of operands become multiples.
struct AttentionPadding {
  std::int64_t rows = 1, keys = 1, columns = 1;
};

/// How stages are cut.
struct AttentionTiles {
  std::vector<SplitFactor> rows;  ///< Of loops over rows, all but the last become one.
  std::int64_t keys = 0;          ///< Of a tile.
  /// Whether powers are kept as the type that they are rounded to where they are multiplied, too.
  bool rounds_powers = false;
  /// Where both products are to be of whole tiles.
  std::optional<AttentionPadding> padding = {};
};

/// The stages in the iterations of one loop over tiles of keys, with maxima and sums so far.
struct OnlineAttention {
  BlockRV result;        ///< The quotient by the sums.
  BlockRV maxima, sums;  ///< Of a tile.
  std::optional<BlockRV> rounded;
  LoopRV rows, step;  ///< The last of the loops over tiles of rows, and that over those of keys.
};

/// Cuts the stages and merges their loops; the scores are computed for a tile. Throws where a step
/// is refused.
OnlineAttention merge_stages(Schedule& schedule, const AttentionStages& stages,
                             const AttentionTiles& tiles);

/// The loops of a block inside of `place` that have more than one iteration.
std::vector<LoopRV> loops_longer_than_one(Schedule& schedule, BlockRV block, LoopRV place);

}  // namespace loopsmith::gpu
