// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/fixed_order.h"

#include <algorithm>
#include <set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {
namespace {

constexpr std::int64_t partial_results = 32;

bool is_reduced(const Ptr<IterVar>& axis) {
  return axis->iter_type == IterType::comm_reduce;
}

/// True when two operands leave out different axes of the result: tiles of it are for vectors.
bool has_products(const Block& block) {
  const auto is_written = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(block.writes, [&](const Ptr<BufferRegion>& write) {
      return write->buffer.same_as(buffer);
    });
  };
  std::set<const IterVar*> left_out;
  for (const Ptr<BufferRegion>& read : block.reads) {
    if (is_written(read->buffer)) continue;
    for (const Ptr<IterVar>& axis : block.iter_vars) {
      const auto uses_axis = [&](const Ptr<Range>& side) {
        return uses_variable(side->min, axis->var);
      };
      if (!is_reduced(axis) && std::ranges::none_of(read->region, uses_axis)) {
        left_out.insert(axis.get());
      }
    }
  }
  return left_out.size() > 1;
}

/// Splits the reduction of a block into lanes, unless its result has vectors of its own.
void split_into_lanes(Schedule& schedule, BlockRV handle) {
  const Block& block = schedule.get(handle);
  const Handles<LoopRV> loops = get_loops(schedule, handle);
  if (loops.size() != block.iter_vars.size() || !is_reduced(block.iter_vars.back()) ||
      has_products(block)) {
    return;
  }
  const std::optional<std::int64_t> extent = constant_extent(schedule, loops.back());
  if (extent && *extent < 2 * partial_results) return;
  const LoopRV lane = split(schedule, loops.back(), {infer, partial_results})[1];
  const auto axis = static_cast<std::int64_t>(schedule.get(handle).writes[0]->region.size());
  rfactor.attempt(schedule, lane, axis);
}

}  // namespace

void fix_order(Schedule& schedule) {
  const auto root = get_block.attempt(schedule, "root");
  if (!root) return;
  for (const BlockRV block : get_child_blocks(schedule, *root)) {
    if (reduces(schedule, block)) split_into_lanes(schedule, block);
  }
}

}  // namespace loopsmith::tune
