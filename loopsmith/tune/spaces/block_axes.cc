// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/block_axes.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/block_axes.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {

bool is_inlined(Schedule& schedule, BlockRV block) {
  if (reduces(schedule, block) || is_output_block(schedule, block)) return false;
  return happens(schedule, 3, 4) && compute_inline.attempt(schedule, block).has_value();
}

bool reduces(const Schedule& schedule, BlockRV block) {
  return std::ranges::any_of(schedule.get(block).iter_vars, [](const Ptr<IterVar>& axis) {
    return axis->iter_type == IterType::comm_reduce;
  });
}

bool is_of_block(const Schedule& schedule, LoopRV loop) {
  const auto block = only_block(schedule, loop);
  return block && !runs_in_order(schedule, *block);
}

bool runs_in_order(const Schedule& schedule, BlockRV block) {
  return std::ranges::any_of(schedule.get(block).iter_vars, [](const Ptr<IterVar>& axis) {
    return axis->iter_type == IterType::ordered || axis->iter_type == IterType::opaque;
  });
}

std::size_t common_loops(const Schedule& schedule, const std::vector<LoopRV>& loops) {
  const auto first = std::ranges::find_if(
      loops, [&](LoopRV loop) { return only_block(schedule, loop).has_value(); });
  return static_cast<std::size_t>(first - loops.begin());
}

bool shares_reads(const Schedule& schedule, BlockRV handle) {
  const Block& block = schedule.get(handle);
  const auto is_own_result = [&](const Ptr<BufferRegion>& read) {
    return std::ranges::any_of(block.writes, [&](const Ptr<BufferRegion>& write) {
      return write->buffer.same_as(read->buffer);
    });
  };
  const auto is_shared_along = [&](const Ptr<BufferRegion>& read, const Ptr<IterVar>& axis) {
    return axis->iter_type != IterType::comm_reduce && !is_const_int(axis->dom->extent, 1) &&
           std::ranges::none_of(read->region, [&](const Ptr<Range>& side) {
             return uses_variable(side->min, axis->var);
           });
  };
  return std::ranges::any_of(block.reads, [&](const Ptr<BufferRegion>& read) {
    return !is_own_result(read) && std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
      return is_shared_along(read, axis);
    });
  });
}

AxisKind axis_kind(const Schedule& schedule, BlockRV block, LoopRV loop) {
  const BlockRealize& realize = schedule.realize(block);
  const Ptr<Var>& moved_by = schedule.get(loop).loop_var;
  bool is_spatial = false, is_reduction = false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (!uses_variable(realize.iter_values[i], moved_by)) continue;
    const bool axis_reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
    (axis_reduces ? is_reduction : is_spatial) = true;
  }
  if (is_spatial && is_reduction) return AxisKind::mixed;
  return is_reduction ? AxisKind::reduction : AxisKind::spatial;
}

std::vector<LoopRV> loops_without_repeats(Schedule& schedule, BlockRV block, BlockRV consumer) {
  const Handles<LoopRV> loops = get_loops(schedule, consumer);
  const BlockRealize& realize = schedule.realize(consumer);
  const auto is_of_block = [&](const Ptr<BufferRegion>& read) {
    return std::ranges::any_of(schedule.get(block).writes, [&](const Ptr<BufferRegion>& write) {
      return write->buffer.same_as(read->buffer);
    });
  };
  // Whether an axis tells elements of the block's results apart.
  const auto tells = [&](const Ptr<IterVar>& axis) {
    return std::ranges::any_of(realize.block->reads, [&](const Ptr<BufferRegion>& read) {
      return is_of_block(read) && std::ranges::any_of(read->region, [&](const Ptr<Range>& side) {
               return uses_variable(side->min, axis->var);
             });
    });
  };
  std::vector<LoopRV> found;
  for (const LoopRV loop : loops) {
    bool is_told = false;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      is_told = is_told || (uses_variable(realize.iter_values[i], schedule.get(loop).loop_var) &&
                            tells(realize.block->iter_vars[i]));
    }
    if (!is_told && constant_extent(schedule, loop) != 1) break;
    found.push_back(loop);
  }
  return found;
}

std::optional<LoopRV> fused(Schedule& schedule, const std::vector<LoopRV>& loops) {
  if (loops.empty()) return {};
  if (loops.size() == 1) return loops[0];
  return fuse.attempt(schedule, loops);
}

void vectorize_innermost(Schedule& schedule, BlockRV block) {
  const Handles<LoopRV> loops = get_loops(schedule, block);
  if (loops.empty()) return;
  const std::optional<std::int64_t> extent = constant_extent(schedule, loops.back());
  if (extent && *extent <= 1) return;
  LoopRV inner = loops.back();
  if (!extent || *extent > max_innermost) {
    const auto parts = split.attempt(schedule, inner, {infer, 16});
    if (!parts) return;
    inner = (*parts)[1];
  }
  vectorize.attempt(schedule, inner);
}

}  // namespace loopsmith::tune
