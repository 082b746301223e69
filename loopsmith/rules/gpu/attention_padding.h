// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/gpu/attention_stages.h"

namespace loopsmith::gpu {

/// Of which rows, keys, and the columns of operands become multiples.
struct AttentionPadding {
  std::int64_t rows = 1, keys = 1, columns = 1;
};

/// Gives both products of attention whole tiles: operands are padded by zeros, on copies that are
/// computed where they are read; rows that are added to what is between repeat others. `rounded`,
/// what the second product reads of exponentials, is then what has zeros in the place of further
/// keys.
void pad_stages(Schedule& schedule, const AttentionStages& stages, const AttentionPadding& padding,
                std::optional<BlockRV>& rounded);

}  // namespace loopsmith::gpu
