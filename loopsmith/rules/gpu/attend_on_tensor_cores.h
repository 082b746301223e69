// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/gpu/attention_stages.h"
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// True when the device multiplies queries and keys on tensor cores, as the rule for products has
/// it.
bool multiplies_on_tensor_cores(const Schedule& schedule, const AttentionStages& stages,
                                const RuleContext& context);

/// Attention of 16-bit numbers as one kernel, both of whose products are of tensor cores. Scores,
/// exponentials and results of a warp stay in its registers; what is no whole tile is padded.
/// False, or a step is refused, where rows are too long for that or there are no loops to share
/// out.
bool attend_on_tensor_cores(Schedule& schedule, const AttentionStages& stages,
                            const RuleContext& context);

}  // namespace loopsmith::gpu
