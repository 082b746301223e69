// SPDX-License-Identifier: Apache-2.0
// Elements that are read across what they are written along: tiles go through shared memory, so
// that both sides are accessed contiguously. Rows of a tile are one element longer than they need
// to be, and so begin in different banks.
#include <algorithm>

#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/transpose_tiles.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t tile = 32;
constexpr std::int64_t rows_of_threads = 8;

/// A read whose last index is an axis that is not the last one of what is written.
struct CrossedRead {
  std::int64_t number;
  std::size_t loop;  ///< Over that axis.
};

std::optional<CrossedRead> crossed_read(const Schedule& schedule, BlockRV block,
                                        const NestLoops& loops) {
  const Block& body = schedule.get(block);
  if (body.writes.size() != 1 || body.writes[0]->region.empty()) return {};
  const Ptr<Var> inner = axis_of(schedule, block, loops.spatial.back());
  if (!inner.get() || !body.writes[0]->region.back()->min.same_as(inner)) return {};
  for (std::size_t i = 0; i < body.reads.size(); ++i) {
    const auto& region = body.reads[i]->region;
    if (region.size() < 2 || !uses(*body.reads[i], inner)) continue;
    for (std::size_t loop = 0; loop + 1 < loops.spatial.size(); ++loop) {
      const Ptr<Var> axis = axis_of(schedule, block, loops.spatial[loop]);
      if (axis.get() && region.back()->min.same_as(axis)) {
        return CrossedRead{static_cast<std::int64_t>(i), loop};
      }
    }
  }
  return {};
}

/// True when what is copied in an iteration of a loop is about a tile: what lies between elements
/// that are read far from each other would come along.
bool is_tile(const Schedule& schedule, BlockRV copy, LoopRV place) {
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(copy));
  const auto inside = std::ranges::find(loops, place) + 1;
  const auto elements = count(schedule, {inside, loops.end()});
  return elements && *elements <= 2 * tile * tile;
}

}  // namespace

bool transpose_tiles(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops loops = loops_of(schedule, block);
  if (!loops.reduction.empty() || loops.spatial.size() < 2 || schedule.get(block).init) {
    return false;
  }
  if (tile * 2 * rows_of_threads > context.device.threads_per_block) return false;
  const auto read = crossed_read(schedule, block, loops);
  if (!read) return false;
  return attempt(schedule, [&] {
    look_up_nest(schedule, block);
    const LoopRV crossed = loops.spatial[read->loop], along = loops.spatial.back();
    std::vector<LoopRV> others;
    for (const LoopRV loop : loops.spatial) {
      if (loop != crossed && loop != along) others.push_back(loop);
    }
    const Factor rows = context.number(schedule, rows_of_threads, {4, 16});
    const auto [block_row, inside] = split(schedule, crossed, {infer, tile}).take<2>();
    const auto [step, row] = split(schedule, inside, {infer, rows}).take<2>();
    const auto [block_column, column] = split(schedule, along, {infer, tile}).take<2>();
    std::vector<LoopRV> order = others;
    order.insert(order.end(), {block_row, block_column, row, column, step});
    reorder(schedule, order);
    if (!others.empty()) bind(schedule, in_line(schedule, others), "blockIdx.z");
    bind_all(schedule, {block_row, block_column}, "blockIdx");
    bind_all(schedule, {row, column}, "threadIdx");
    const BlockRV copy = cache_read(schedule, block, BufferSelector(read->number), "shared");
    compute_at(schedule, copy, block_column, /*preserve_unit_loops=*/true);
    if (!is_tile(schedule, copy, block_column)) return false;
    share_out(schedule, copy, block_column, {rows, tile});
    const auto last = static_cast<std::int64_t>(schedule.get(copy).writes[0]->region.size()) - 2;
    storage_align(schedule, copy, BufferSelector(0), last, tile, 1);
    require_no_obligations(schedule, "transpose_tiles");
    return true;
  });
}

}  // namespace loopsmith::gpu
