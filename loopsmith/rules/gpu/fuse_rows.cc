// SPDX-License-Identifier: Apache-2.0
// Softmax, norms, and whatever else reduces rows and then uses what was reduced: a block of threads
// for each row, which keeps what it needs of it, and what it reads of it again, in shared memory.
#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/rules/gpu/fuse_rows.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/cache_read.h"
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
    lanes_ = lanes_of(length, own, schedule_.get(block_).writes[0]->buffer->dtype);
    const LoopRV row = in_line(schedule_, {loops.begin(), middle});
    bind(schedule_, row, "blockIdx.x");
    vectorize_last(bind_threads(inner, lanes_));
    std::int64_t bytes = 0;
    std::vector<BlockRV> stages = {block_};
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
      const auto parts =
          bind_threads(reduces ? loops_of(schedule_, maker).reduction : inside, lanes_);
      if (reduces && parts.size() > 2) unroll(schedule_, parts[2]);
      if (!reduces) vectorize_last(parts);
      stages.push_back(maker);
    }
    if (length) keep_what_is_read_again(stages, row, *length, own);
    require_no_obligations(schedule_, "fuse_rows");
  }

 private:
  /// How many neighbours are 16 bytes, where threads share out a row of them evenly.
  static std::int64_t lanes_of(std::optional<std::int64_t> length, std::int64_t threads,
                               DataType type) {
    const std::int64_t lanes = std::max<std::int64_t>(1, 16 / type.bytes());
    return length && *length % (threads * lanes) == 0 ? lanes : 1;
  }

  /// The loops over rounds, threads and, if there are several, lanes.
  Handles<LoopRV> bind_threads(const std::vector<LoopRV>& loops, std::int64_t lanes) {
    std::vector<SplitFactor> factors = {infer, threads_};
    if (lanes > 1) factors.emplace_back(lanes);
    Handles<LoopRV> parts = split(schedule_, in_line(schedule_, loops), factors);
    bind(schedule_, parts[1], "threadIdx.x");
    return parts;
  }
  void vectorize_last(const Handles<LoopRV>& parts) {
    if (parts.size() > 2) vectorize(schedule_, parts[2]);
  }

  /// What several stages, the last first, read of a row is read from global memory once.
  void keep_what_is_read_again(const std::vector<BlockRV>& stages, LoopRV row, std::int64_t length,
                               std::int64_t threads) {
    const bool has_pool =
        context_.device.shared_pool_bytes > context_.device.shared_bytes_per_block;
    // A few blocks of threads are to fit a multiprocessor.
    std::int64_t left = has_pool ? context_.device.shared_pool_bytes / 4
                                 : context_.device.shared_bytes_per_block / 2;
    const BlockRV first = stages.back();
    for (const Ptr<Buffer>& buffer : buffers_read_again(stages, row)) {
      const std::int64_t bytes = length * buffer->dtype.bytes();
      if (bytes > left) continue;
      const bool is_kept = attempt(schedule_, [&] {
        const BlockRV copy = cache_read(schedule_, first, BufferSelector(buffer->name),
                                        has_pool ? "shared.dyn" : "shared");
        compute_at(schedule_, copy, row, /*preserve_unit_loops=*/true);
        vectorize_last(bind_threads(loops_inside(schedule_, copy, row),
                                    lanes_of(length, threads, buffer->dtype)));
        require_no_obligations(schedule_, "fuse_rows");
      });
      if (is_kept) left -= bytes;
    }
  }

  /// What the first stage and others read of a row, each row its own.
  std::vector<Ptr<Buffer>> buffers_read_again(const std::vector<BlockRV>& stages,
                                              LoopRV row) const {
    const auto reads_row = [&](BlockRV stage, const BufferRegion& read) {
      const BlockRealize& realize = schedule_.realize(stage);
      for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
        const bool is_of_row = uses_variable(realize.iter_values[i], schedule_.get(row).loop_var);
        if (is_of_row && uses(read, realize.block->iter_vars[i]->var)) return true;
      }
      return false;
    };
    std::vector<Ptr<Buffer>> found;
    for (const Ptr<BufferRegion>& read : schedule_.get(stages.back()).reads) {
      if (!reads_row(stages.back(), *read) || is_shared(memory_scope(*read->buffer))) continue;
      const bool is_read_again = std::any_of(stages.begin(), stages.end() - 1, [&](BlockRV stage) {
        return std::ranges::any_of(schedule_.get(stage).reads, [&](const auto& other) {
          return other->buffer.same_as(read->buffer) && reads_row(stage, *other);
        });
      });
      if (is_read_again) found.push_back(read->buffer);
    }
    return found;
  }

  Schedule& schedule_;
  BlockRV block_;
  const RuleContext& context_;
  Factor threads_ = infer;
  std::int64_t lanes_ = 1;  ///< Neighbours of a row that a thread takes at once.
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
