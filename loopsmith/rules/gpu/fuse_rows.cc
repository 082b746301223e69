// SPDX-License-Identifier: Apache-2.0
// Softmax, norms, and whatever else reduces rows and then uses what was reduced: a block of threads
// for each row, which keeps what it needs of it in shared memory.
#include <algorithm>

#include "loopsmith/rules/gpu/fuse_rows.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t max_threads = 256;
constexpr std::int64_t min_threads = 32;

/// How many axes of rows a reduction has, `most` at most, where others are of one element; none
/// where it has more: its results are no rows'.
std::optional<std::size_t> row_axes(const Schedule& schedule, BlockRV block, std::size_t most) {
  const std::vector<LoopRV> loops = loops_of(schedule, block).spatial;
  std::size_t rows = loops.size();
  while (rows > most && is_const_int(schedule.get(loops[rows - 1]).extent, 1)) --rows;
  return rows > most ? std::nullopt : std::optional(rows);
}

/// The blocks, last first, whose results the block uses, through others, too; none where one of
/// them has to stay. Reductions to more than rows, as products are, are read where they are.
std::vector<BlockRV> makers_of(const Schedule& schedule, BlockRV block, std::size_t most) {
  std::vector<BlockRV> makers;
  const Handles<BlockRV> all = child_blocks(schedule, scope_of(schedule, schedule.node(block)));
  std::vector<BlockRV> needed = producers_of(schedule, block);
  for (std::size_t i = all.size(); i-- > 0;) {
    if (std::ranges::find(needed, all[i]) == needed.end()) continue;
    if (schedule.get(all[i]).init && !row_axes(schedule, all[i], most)) continue;
    if (is_output_block(schedule, all[i]) || is_bound(schedule, all[i])) return {};
    makers.push_back(all[i]);
    for (const BlockRV more : producers_of(schedule, all[i])) needed.push_back(more);
  }
  return makers;
}

/// How many axes the rows have that the blocks reduce; none where none does, or they differ.
std::optional<std::size_t> row_axes(const Schedule& schedule, const std::vector<BlockRV>& makers,
                                    std::size_t most) {
  std::optional<std::size_t> axes;
  for (const BlockRV maker : makers) {
    if (!schedule.get(maker).init) continue;
    const auto rows = row_axes(schedule, maker, most);
    if (axes && axes != rows) return {};
    axes = rows;
  }
  return axes;
}

class RowFuser {
 public:
  RowFuser(Schedule& schedule, BlockRV block, const RuleContext& context)
      : schedule_(schedule), block_(block), context_(context) {}

  void run(const std::vector<BlockRV>& makers, std::size_t rows) {
    look_up_nest(schedule_, block_);
    const std::vector<LoopRV> loops = loops_of(schedule_, block_).spatial;
    const auto middle = loops.begin() + static_cast<std::ptrdiff_t>(rows);
    const std::vector<LoopRV> inner(middle, loops.end());
    const std::optional<std::int64_t> length = count(schedule_, inner);
    const std::int64_t own =
        std::min(power_of_two(length.value_or(max_threads), min_threads, max_threads),
                 context_.device.threads_per_block);
    threads_ = thread_count(schedule_, context_, own);
    const LoopRV row = in_line(schedule_, {loops.begin(), middle});
    bind(schedule_, row, "blockIdx.x");
    bind_threads(inner);
    std::int64_t bytes = 0;
    for (const BlockRV maker : makers) {
      look_up(schedule_, maker);
      const bool reduces = schedule_.get(maker).init.defined();
      const std::size_t results = schedule_.get(maker).writes.size();
      if (!reduces) {
        // A whole row is kept, if it fits.
        const std::int64_t size = schedule_.get(maker).writes[0]->buffer->dtype.bytes();
        if (!length || bytes + *length * size > context_.device.shared_bytes_per_block / 2) {
          compute_inline(schedule_, maker);
          continue;
        }
        bytes += *length * size;
      }
      for (std::size_t i = 0; i < results; ++i) {
        set_scope(schedule_, maker, BufferSelector(static_cast<std::int64_t>(i)), "shared");
      }
      compute_at(schedule_, maker, row, /*preserve_unit_loops=*/true);
      const std::vector<LoopRV> inside = loops_inside(schedule_, maker, row);
      bind_threads(reduces ? loops_of(schedule_, maker).reduction : inside);
    }
    require_no_obligations(schedule_, "fuse_rows");
  }

 private:
  void bind_threads(const std::vector<LoopRV>& loops) {
    const auto parts = split(schedule_, in_line(schedule_, loops), {infer, threads_});
    bind(schedule_, parts[1], "threadIdx.x");
  }

  Schedule& schedule_;
  BlockRV block_;
  const RuleContext& context_;
  Factor threads_ = infer;
};

}  // namespace

bool fuse_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops loops = loops_of(schedule, block);
  if (schedule.get(block).init || !loops.reduction.empty() || loops.spatial.size() < 2) {
    return false;
  }
  const std::size_t most = loops.spatial.size() - 1;
  const std::vector<BlockRV> makers = makers_of(schedule, block, most);
  const auto rows = row_axes(schedule, makers, most);
  if (!rows || *rows == 0) return false;
  return attempt(schedule, [&] { RowFuser(schedule, block, context).run(makers, *rows); });
}

}  // namespace loopsmith::gpu
