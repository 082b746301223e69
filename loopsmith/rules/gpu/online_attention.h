// SPDX-License-Identifier: Apache-2.0
// The loops over keys of attention made one, by online softmax.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/rules/gpu/attention_padding.h"
#include "loopsmith/rules/gpu/attention_stages.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith::gpu {

/// How stages are cut.
struct AttentionTiles {
  std::vector<SplitFactor> rows;  ///< Of loops over rows, all but the last become one.
  std::int64_t keys = 0;          ///< Of a tile.
  /// Whether exponentials are kept as the type that they are rounded to where they are multiplied,
  /// too.
  bool rounds_exponentials = false;
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

}  // namespace loopsmith::gpu
