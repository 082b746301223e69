// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/attention_stages.h"

#include <algorithm>
#include <numeric>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/matrix_form.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

/// The producers of a block that reduce, or those that do not.
std::vector<BlockRV> makers(const Schedule& schedule, BlockRV block, bool reduce) {
  std::vector<BlockRV> found;
  for (const BlockRV maker : producers_of(schedule, block)) {
    if (schedule.get(maker).init.defined() == reduce) found.push_back(maker);
  }
  return found;
}

/// Which of the loops around a block gives each index of a buffer that it accesses; none where one
/// is no loop.
std::optional<std::vector<std::size_t>> loops_of_indices(const Schedule& schedule, BlockRV block,
                                                         const Ptr<Buffer>& buffer) {
  const Block& body = schedule.get(block);
  std::vector<Ptr<BufferRegion>> regions = body.writes;
  regions.insert(regions.end(), body.reads.begin(), body.reads.end());
  const auto region =
      std::ranges::find_if(regions, [&](const auto& each) { return each->buffer.same_as(buffer); });
  if (region == regions.end()) return {};
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(block));
  std::vector<std::size_t> found;
  for (const Ptr<Range>& range : (*region)->region) {
    const auto is_index = [&](LoopRV loop) {
      return range->min.same_as(axis_of(schedule, block, loop));
    };
    const auto loop = std::ranges::find_if(loops, is_index);
    if (loop == loops.end()) return {};
    found.push_back(static_cast<std::size_t>(loop - loops.begin()));
  }
  return found;
}

/// True when a block stores exponentials and nothing else: none is above 1 where the exponents are
/// those that a maximum leaves.
bool stores_exponential(const Schedule& schedule, BlockRV block) {
  const auto* store = schedule.get(block).body.as<BufferStore>();
  const auto* exponential = store ? store->value.as<Call>() : nullptr;
  return exponential && (exponential->op == op("exp") || exponential->op == op("exp2"));
}

/// Computes elements where they are read, until a block reads what is reduced alone, or what
/// others read, too.
void inline_makers_of(Schedule& schedule, BlockRV block, bool of_others_too) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const BlockRV maker : makers(schedule, block, false)) {
      if (!of_others_too && consumers_of(schedule, maker).size() > 1) continue;
      compute_inline(schedule, look_up(schedule, maker));
      goes_on = true;
      break;
    }
  }
}

}  // namespace

const Ptr<Buffer>& made_by(const Schedule& schedule, BlockRV block) {
  return schedule.get(block).writes[0]->buffer;
}

std::int64_t number_of_values(const Schedule& schedule, const AttentionStages& stages) {
  const BlockRV mix = stages.mix.block;
  const auto& reads = schedule.get(mix).reads;
  const auto is_value = [&](const Ptr<BufferRegion>& read) {
    return std::ranges::none_of(
        std::initializer_list<BlockRV>{mix, stages.exponentials.block, stages.sum.block},
        [&](BlockRV block) { return read->buffer.same_as(made_by(schedule, block)); });
  };
  return std::ranges::find_if(reads, is_value) - reads.begin();
}

LoopRV loop_of(const Schedule& schedule, const AttentionStage& stage, std::size_t dimension) {
  return loops_around(schedule, schedule.node(stage.block))[stage.places[dimension]];
}

std::vector<LoopRV> columns_of(const Schedule& schedule, const AttentionStage& mix) {
  const auto loops = loops_around(schedule, schedule.node(mix.block));
  std::vector<LoopRV> columns;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (std::ranges::find(mix.places, i) == mix.places.end()) columns.push_back(loops[i]);
  }
  return columns;
}

std::vector<LoopRV> loops_longer_than_one(Schedule& schedule, BlockRV block, LoopRV place) {
  std::vector<LoopRV> loops = loops_inside(schedule, block, place);
  std::erase_if(loops, [&](LoopRV loop) { return is_const_int(schedule.get(loop).extent, 1); });
  return loops;
}

std::optional<AttentionStages> attention_stages(Schedule& schedule, BlockRV mix) {
  inline_makers_of(schedule, look_up(schedule, mix), false);
  const auto exponentials = makers(schedule, mix, false), sums = makers(schedule, mix, true);
  if (exponentials.size() != 1 || sums.size() != 1 ||
      !stores_exponential(schedule, exponentials[0]))
    return {};
  const auto is_maximum = [&](BlockRV block) {
    const auto reduction = reduction_of(schedule.get(block));
    return reduction && reduction->reducer && reduction->reducer->name == "max";
  };
  const auto maxima = makers(schedule, exponentials[0], true);
  const auto maximum = std::ranges::find_if(maxima, is_maximum);
  if (maximum == maxima.end()) return {};
  inline_makers_of(schedule, look_up(schedule, *maximum), true);
  const auto scores = makers(schedule, *maximum, true);
  if (scores.size() != 1) return {};
  const auto product = product_loops(schedule, scores[0]);
  if (!product) return {};
  const Ptr<Buffer>&of_scores = made_by(schedule, scores[0]),
        &of_exponentials = made_by(schedule, exponentials[0]);
  AttentionStages stages;
  const auto add = [&](AttentionStage& stage, BlockRV block, const Ptr<Buffer>& buffer) {
    look_up_nest(schedule, block);
    const auto places = loops_of_indices(schedule, block, buffer);
    if (places) stage = {block, *places};
    return places.has_value();
  };
  if (!add(stages.scores, scores[0], of_scores) || !add(stages.maximum, *maximum, of_scores) ||
      !add(stages.exponentials, exponentials[0], of_scores) ||
      !add(stages.sum, sums[0], of_exponentials) || !add(stages.mix, mix, of_exponentials)) {
    return {};
  }
  if (loops_of_indices(schedule, exponentials[0], of_exponentials) != stages.exponentials.places)
    return {};
  // Rows and keys are what the operands of the scores do not have in common.
  const auto dimension_of = [&](LoopRV loop) {
    const auto loops = loops_around(schedule, schedule.node(scores[0]));
    const auto place = static_cast<std::size_t>(std::ranges::find(loops, loop) - loops.begin());
    return static_cast<std::size_t>(std::ranges::find(stages.scores.places, place) -
                                    stages.scores.places.begin());
  };
  // Of several, as of heads that share their keys, those further in; others are batches.
  stages.rows = dimension_of(product->rows.back());
  stages.keys = dimension_of(product->columns.back());
  const std::vector<LoopRV> reduced = loops_of(schedule, *maximum).reduction;
  const auto loops = loops_around(schedule, schedule.node(*maximum));
  if (reduced.size() != 1) return {};
  stages.queries = product->row_operand;
  if (loops[stages.maximum.places[stages.keys]] != reduced[0]) {
    std::swap(stages.rows, stages.keys);
    stages.queries = product->column_operand;
  }
  const bool are_rows = loops[stages.maximum.places[stages.keys]] == reduced[0];
  return are_rows && stages.rows < stages.keys ? std::optional(stages) : std::nullopt;
}

}  // namespace loopsmith::gpu
