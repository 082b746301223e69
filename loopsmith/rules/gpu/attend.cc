// SPDX-License-Identifier: Apache-2.0
// Attention as one kernel: a block of threads goes over the keys and values for a tile of rows, and
// has the scores of a tile of keys at a time in shared memory. Maxima and sums of rows are of the
// keys so far, results are rescaled where the maxima grow (online softmax).
#include "loopsmith/rules/gpu/attend.h"

#include <algorithm>
#include <bit>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/attend_on_tensor_cores.h"
#include "loopsmith/rules/gpu/attention_stages.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/online_attention.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t threads_of_axis = 16, largest_tile = 64;

class AttentionTiler {
 public:
  AttentionTiler(Schedule& schedule, const AttentionStages& stages, const RuleContext& context)
      : schedule_(schedule), stages_(stages), context_(context) {}

  bool run() {
    if (!choose_tiles()) return false;
    const OnlineAttention online =
        merge_stages(schedule_, stages_, {.rows = {infer, rows_}, .keys = keys_});
    result_ = online.result, row_ = online.rows, step_ = online.step;
    // Sums of products stay in registers until they are whole.
    const BlockRV scores = cache_write(schedule_, stages_.scores.block, BufferSelector(0), "local");
    for (const BlockRV block : {scores, stages_.scores.block}) {
      compute_at(schedule_, block, step_, /*preserve_unit_loops=*/true);
    }
    bind_blocks();
    const Handles<BlockRV> blocks = get_child_blocks(schedule_, row_);
    share_operands();
    for (const BlockRV block : blocks) {
      share_out_stage(block, block == online.maxima || block == online.sums);
    }
    return true;
  }

 private:
  /// Tiles of 64 rows and 64 keys, smaller ones where shared memory holds no more, or there are
  /// fewer.
  bool choose_tiles() {
    const BlockRV scores = stages_.scores.block;
    const auto width = count(schedule_, loops_of(schedule_, scores).reduction);
    const auto columns = count(schedule_, columns_of(schedule_, stages_.mix));
    if (!width || *width < 2 || !columns || *columns < 2 ||
        columns_of(schedule_, stages_.mix).size() != 1) {
      return false;
    }
    // The loop over tiles of keys may have no iteration then, and threads wait in it, which
    // PoCL 3.1 compiles wrongly; OpenCL says nothing of warps.
    const bool may_be_empty = !as_int(made_by(schedule_, scores)->shape[stages_.keys]);
    if (may_be_empty && context_.device.warp_size == 1) return false;
    const auto extent = [&](std::size_t dimension) -> std::int64_t {
      const std::int64_t* known = as_int(made_by(schedule_, scores)->shape[dimension]);
      return known ? *known : largest_tile;
    };
    const std::int64_t bytes = schedule_.get(scores).reads[0]->buffer->dtype.bytes();
    const std::int64_t most =
        has_pool() ? context_.device.shared_pool_bytes / 2 : context_.device.shared_bytes_per_block;
    for (std::int64_t tile = largest_tile; tile >= threads_of_axis; tile /= 2) {
      // No more rows than there are, so that all stages have as many.
      rows_ = std::min<std::int64_t>(
          tile, std::bit_floor(static_cast<std::uint64_t>(extent(stages_.rows))));
      keys_ = std::min(tile, power_of_two(extent(stages_.keys) / 2, threads_of_axis, tile));
      const std::int64_t operands = rows_ * *width + keys_ * (*width + gap_of(bytes) + *columns);
      // Scores and exponentials, parts of rows for each thread, and what is known of rows.
      const std::int64_t made =
          made_by(schedule_, scores)->dtype.bytes() *
          (2 * rows_ * keys_ + 2 * threads_of_axis * threads_of_axis + 6 * rows_);
      // What a thread holds of the results stays in registers.
      const bool fits =
          rows_ >= threads_of_axis && rows_ * *columns <= 64 * threads_of_axis * threads_of_axis;
      if (fits && operands * bytes + made <= most) return true;
    }
    return false;
  }

  /// Between rows, so that those that are read together lie in different banks.
  static constexpr std::int64_t gap_of(std::int64_t bytes) { return 16 / bytes; }
  bool has_pool() const {
    return context_.device.shared_pool_bytes > context_.device.shared_bytes_per_block;
  }
  std::string scope() const { return has_pool() ? "shared.dyn" : "shared"; }

  void bind_blocks() {
    std::vector<LoopRV> batch = get_loops(schedule_, stages_.mix.block);
    batch.erase(std::ranges::find(batch, row_), batch.end());
    bind(schedule_, row_, batch.empty() ? "blockIdx.x" : "blockIdx.y");
    if (!batch.empty()) bind(schedule_, in_line(schedule_, batch), "blockIdx.x");
  }

  /// Threads along y have neighbouring rows of all that is made, so that most of it stays in a
  /// warp.
  void share_out_stage(BlockRV block, bool is_of_parts) {
    const bool is_in_step = is_inside(schedule_, schedule_.node(block), schedule_.node(step_));
    const std::vector<LoopRV> loops =
        loops_longer_than_one(schedule_, block, is_in_step ? step_ : row_);
    const auto [y, own] = split(schedule_, loops.at(0), {threads_of_axis, infer}).take<2>();
    const Ptr<Buffer>& made = made_by(schedule_, block);
    const bool is_of_results = made.same_as(made_by(schedule_, stages_.mix.block));
    if (block != result_ && memory_scope(*made) == MemoryScope::global) {
      set_scope(schedule_, block, BufferSelector(0), is_of_results ? "local" : scope());
    }
    if (loops.size() == 1) {
      bind_all(schedule_, {y, own}, "threadIdx");
    } else if (is_of_parts) {
      bind_all(schedule_, {y, split(schedule_, loops[1], {infer, threads_of_axis})[1]},
               "threadIdx");
    } else {
      share_out_tile(block, y, own, {loops.begin() + 1, loops.end()});
    }
  }

  /// A thread has neighbouring rows, and columns as far apart as there are threads along x.
  void share_out_tile(BlockRV block, LoopRV y, LoopRV row, const std::vector<LoopRV>& others) {
    const auto [column, x] = split(schedule_, others[0], {infer, threads_of_axis}).take<2>();
    std::vector<LoopRV> order{y, x};
    order.insert(order.end(), others.begin() + 1, others.end());
    order.insert(order.end(), {row, column});
    reorder(schedule_, order);
    bind_all(schedule_, {y, x}, "threadIdx");
    if (block == stages_.scores.block) decompose_reduction(schedule_, block, others.at(1));
    for (const LoopRV loop : {row, column}) unroll(schedule_, loop);
  }

  /// The operands of both products; threads copy several elements at once where these divide rows.
  void share_operands() {
    const auto share = [&](BlockRV block, std::int64_t operand, LoopRV place, bool has_gaps) {
      const BlockRV copy = cache_read(schedule_, block, BufferSelector(operand), scope());
      compute_at(schedule_, copy, place, /*preserve_unit_loops=*/true);
      const Ptr<Buffer>& tile = made_by(schedule_, copy);
      const std::int64_t bytes = tile->dtype.bytes();
      const auto rank = static_cast<std::int64_t>(tile->shape.size());
      // Each axis by itself, so that a tile is as large as its axes say.
      const std::vector<LoopRV> loops = loops_longer_than_one(schedule_, copy, place);
      const std::int64_t* width = as_int(tile->shape.back());
      std::int64_t lanes = 16 / bytes;
      while (lanes > 1 && (!width || *width % (threads_of_axis * lanes) != 0)) lanes /= 2;
      const LoopRV y = split(schedule_, loops.at(0), {infer, threads_of_axis})[1];
      const auto parts = split(schedule_, loops.at(1), {infer, threads_of_axis, lanes});
      bind_all(schedule_, {y, parts[1]}, "threadIdx");
      if (lanes > 1) vectorize(schedule_, parts[2]);
      if (has_gaps) {
        storage_align(schedule_, copy, BufferSelector(0), rank - 2, 128 / bytes, gap_of(bytes));
      }
    };
    const BlockRV scores = stages_.scores.block, mix = stages_.mix.block;
    share(scores, stages_.queries, row_, false);
    share(scores, 1 - stages_.queries, step_, true);
    share(mix, number_of_values(schedule_, stages_), step_, false);
  }

  Schedule& schedule_;
  AttentionStages stages_;
  const RuleContext& context_;
  BlockRV result_{};
  LoopRV row_{}, step_{};
  std::int64_t rows_ = 0, keys_ = 0;  ///< Of a tile.
};

}  // namespace

bool attend(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV mix = subject.blocks[0];
  const auto makers = producers_of(schedule, mix);
  const bool has_powers = std::ranges::any_of(
      makers, [&](BlockRV maker) { return !schedule.get(maker).init.defined(); });
  if (!schedule.get(mix).init || !has_powers) return false;
  return attempt(schedule, [&] {
    const auto stages = attention_stages(schedule, mix);
    if (!stages) return false;
    // Tensor cores multiply faster than scores are kept in memory.
    const bool is_scheduled = multiplies_on_tensor_cores(schedule, *stages, context)
                                  ? attend_on_tensor_cores(schedule, *stages, context)
                                  : AttentionTiler(schedule, *stages, context).run();
    if (is_scheduled) require_no_obligations(schedule, "attend");
    return is_scheduled;
  });
}

}  // namespace loopsmith::gpu
