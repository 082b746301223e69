// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/attention_padding.h"

#include <algorithm>
#include <utility>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/pad_axes.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/reorder_statements.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

/// A loop, and of what number its extent becomes a multiple.
using Multiple = std::pair<LoopRV, std::int64_t>;

/// A factor for each axis; none where all loops are of such extents.
std::optional<std::vector<std::int64_t>> factors_of(const Schedule& schedule, BlockRV block,
                                                    const std::vector<Multiple>& multiples) {
  std::vector<std::int64_t> factors;
  bool is_whole = true;
  for (const auto& axis : schedule.get(block).iter_vars) {
    const auto found = std::ranges::find_if(multiples, [&](const Multiple& each) {
      return axis->var.same_as(axis_of(schedule, block, each.first));
    });
    factors.push_back(found == multiples.end() ? 1 : found->second);
    const std::int64_t* extent = as_int(axis->dom->extent);
    is_whole = is_whole && (factors.back() == 1 || (extent && *extent % factors.back() == 0));
  }
  return is_whole ? std::nullopt : std::optional(std::move(factors));
}

class StagePadding {
 public:
  StagePadding(Schedule& schedule, const AttentionStages& stages, const AttentionPadding& padding)
      : schedule_(schedule), stages_(stages), padding_(padding) {}

  void run(std::optional<BlockRV>& rounded) {
    const BlockRV scores = stages_.scores.block, mix = stages_.mix.block;
    std::vector<Multiple> of_scores{rows_of(stages_.scores), keys_of(stages_.scores)};
    for (const LoopRV loop : loops_of(schedule_, scores).reduction) {
      of_scores.emplace_back(loop, padding_.columns);
    }
    pad_product(scores, of_scores);
    for (const AttentionStage& stage : {stages_.maximum, stages_.exponentials, stages_.sum}) {
      pad_rows(stage.block, rows_of(stage));
    }
    if (rounded) {
      // Its axes are the dimensions of the scores.
      pad_rows(*rounded, {get_loops(schedule_, *rounded)[stages_.rows], padding_.rows});
    }
    pad_rows(mix, rows_of(stages_.mix));
    std::vector<Multiple> of_mix{keys_of(stages_.mix)};
    for (const LoopRV loop : columns_of(schedule_, stages_.mix)) {
      of_mix.emplace_back(loop, padding_.columns);
    }
    pad_product(mix, of_mix);
    if (rounded) rounded = with_zeros(*rounded);
    for (const BlockRV copy : producers_of(schedule_, mix)) {
      if (copy != rounded && copy != stages_.exponentials.block) move_ahead(copy);
    }
  }

 private:
  Multiple rows_of(const AttentionStage& stage) const {
    return {loop_of(schedule_, stage, stages_.rows), padding_.rows};
  }
  Multiple keys_of(const AttentionStage& stage) const {
    return {loop_of(schedule_, stage, stages_.keys), padding_.keys};
  }

  void pad_rows(BlockRV block, const Multiple& rows) {
    if (const auto factors = factors_of(schedule_, block, {rows})) {
      pad_axes(schedule_, block, *factors);
    }
  }

  /// What reads the results reads those of whole tiles.
  void pad_product(BlockRV block, const std::vector<Multiple>& multiples) {
    const auto factors = factors_of(schedule_, block, multiples);
    if (!factors) return;
    const Ptr<Buffer> results = made_by(schedule_, block);
    pad_einsum(schedule_, block, *factors);
    if (made_by(schedule_, block).same_as(results)) return;
    compute_inline(schedule_, look_up(schedule_, consumers_of(schedule_, block)[0]));
  }

  /// The block that makes of rounded exponentials, which it computes itself, those of whole tiles.
  BlockRV with_zeros(BlockRV rounded) {
    const BlockRV reader = consumers_of(schedule_, rounded)[0];
    if (reader == stages_.mix.block) return rounded;
    compute_inline(schedule_, rounded);
    return look_up(schedule_, reader);
  }

  /// Copies stand before the stages, which follow each other then.
  void move_ahead(BlockRV copy) {
    for (const BlockRV maker : producers_of(schedule_, copy)) move_ahead(maker);
    reorder_statements(schedule_, look_up(schedule_, copy), stages_.scores.block);
  }

  Schedule& schedule_;
  const AttentionStages& stages_;
  const AttentionPadding& padding_;
};

}  // namespace

void pad_stages(Schedule& schedule, const AttentionStages& stages, const AttentionPadding& padding,
                std::optional<BlockRV>& rounded) {
  StagePadding(schedule, stages, padding).run(rounded);
}

}  // namespace loopsmith::gpu
