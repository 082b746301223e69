// SPDX-License-Identifier: Apache-2.0
// Attention as one kernel: a block of threads goes over the keys and values for a tile of rows, and
// has the scores of a tile of keys at a time in shared memory. Maxima and sums of rows are of the
// keys so far, results are rescaled where the maxima grow (online softmax).
#include "loopsmith/rules/gpu/attend.h"

#include <algorithm>
#include <bit>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/matrix_form.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/hoist_factor.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/merge_online.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t threads_of_axis = 16, largest_tile = 64;

const Ptr<Buffer>& made_by(const Schedule& schedule, BlockRV block) {
  return schedule.get(block).writes[0]->buffer;
}

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

/// A block that goes over rows and keys, with the places of its loops that do: batches, too.
struct Stage {
  BlockRV block;
  std::vector<std::size_t> places;  ///< Of each dimension of the scores.
};

/// What is made in turn, and which dimensions of the scores are rows and keys.
struct Stages {
  Stage scores, maximum, powers, sum, mix;
  std::size_t rows = 0, keys = 0;
  std::int64_t queries = 0;  ///< Number among the reads of the scores.
};

/// True when a block stores powers and nothing else: none is above 1 where the exponents are those
/// that a maximum leaves.
bool stores_power(const Schedule& schedule, BlockRV block) {
  const auto* store = schedule.get(block).body.as<BufferStore>();
  const auto* power = store ? store->value.as<Call>() : nullptr;
  return power && (power->op == op("exp") || power->op == op("exp2"));
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

/// The stages that a product belongs to; none where it is no attention.
std::optional<Stages> stages_of(Schedule& schedule, BlockRV mix) {
  inline_makers_of(schedule, look_up(schedule, mix), false);
  const auto powers = makers(schedule, mix, false), sums = makers(schedule, mix, true);
  if (powers.size() != 1 || sums.size() != 1 || !stores_power(schedule, powers[0])) return {};
  const auto is_maximum = [&](BlockRV block) {
    const auto reduction = reduction_of(schedule.get(block));
    return reduction && reduction->reducer && reduction->reducer->name == "max";
  };
  const auto maxima = makers(schedule, powers[0], true);
  const auto maximum = std::ranges::find_if(maxima, is_maximum);
  if (maximum == maxima.end()) return {};
  inline_makers_of(schedule, look_up(schedule, *maximum), true);
  const auto scores = makers(schedule, *maximum, true);
  if (scores.size() != 1) return {};
  const auto product = product_loops(schedule, scores[0]);
  if (!product || product->rows.size() != 1 || product->columns.size() != 1) return {};
  const Ptr<Buffer>&of_scores = made_by(schedule, scores[0]),
        &of_powers = made_by(schedule, powers[0]);
  Stages stages;
  const auto add = [&](Stage& stage, BlockRV block, const Ptr<Buffer>& buffer) {
    look_up_nest(schedule, block);
    const auto places = loops_of_indices(schedule, block, buffer);
    if (places) stage = {block, *places};
    return places.has_value();
  };
  if (!add(stages.scores, scores[0], of_scores) || !add(stages.maximum, *maximum, of_scores) ||
      !add(stages.powers, powers[0], of_scores) || !add(stages.sum, sums[0], of_powers) ||
      !add(stages.mix, mix, of_powers)) {
    return {};
  }
  if (loops_of_indices(schedule, powers[0], of_powers) != stages.powers.places) return {};
  // Rows and keys are what the operands of the scores do not have in common.
  const auto dimension_of = [&](LoopRV loop) {
    const auto loops = loops_around(schedule, schedule.node(scores[0]));
    const auto place = static_cast<std::size_t>(std::ranges::find(loops, loop) - loops.begin());
    return static_cast<std::size_t>(std::ranges::find(stages.scores.places, place) -
                                    stages.scores.places.begin());
  };
  stages.rows = dimension_of(product->rows[0]);
  stages.keys = dimension_of(product->columns[0]);
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

class AttentionTiler {
 public:
  AttentionTiler(Schedule& schedule, const Stages& stages, const RuleContext& context)
      : schedule_(schedule), stages_(stages), context_(context) {}

  bool run() {
    if (multiplies_faster_apart() || !choose_tiles()) return false;
    hoist_quotient();
    const BlockRV maxima = part_of(stages_.maximum), sums = part_of(stages_.sum);
    std::vector<LoopRV> rows, steps;
    const auto cut = [&](BlockRV block, const Stage& stage, Keys keys) {
      const auto [row, step] = cut_nest(block, stage.places, keys);
      rows.push_back(row);
      steps.push_back(step);
    };
    cut(stages_.maximum.block, stages_.maximum, Keys::tiles);
    cut(stages_.powers.block, stages_.powers, Keys::whole);
    cut(sums, stages_.sum, Keys::in_tiles);
    cut(stages_.sum.block, stages_.sum, Keys::tiles);
    cut(stages_.mix.block, stages_.mix, Keys::whole);
    row_ = merge(schedule_, rows);
    step_ = merge_online(schedule_, steps);
    compute_at(schedule_, maxima, step_, /*preserve_unit_loops=*/true);
    // Sums of products stay in registers until they are whole.
    const BlockRV scores = cache_write(schedule_, stages_.scores.block, BufferSelector(0), "local");
    for (const BlockRV block : {scores, stages_.scores.block}) {
      compute_at(schedule_, block, step_, /*preserve_unit_loops=*/true);
    }
    reverse_compute_at(schedule_, result_, row_, /*preserve_unit_loops=*/true);
    bind_blocks();
    const Handles<BlockRV> blocks = get_child_blocks(schedule_, row_);
    share_operands();
    for (const BlockRV block : blocks) share_out_stage(block, block == maxima || block == sums);
    require_no_obligations(schedule_, "attend");
    return true;
  }

 private:
  /// Whether a nest has a loop over keys, over tiles of them, or both.
  enum class Keys { whole, tiles, in_tiles };

  /// Tensor cores, which these threads do not use, multiply faster than scores are kept in memory.
  bool multiplies_faster_apart() const {
    const DataType type = schedule_.get(stages_.scores.block).reads[0]->buffer->dtype;
    const bool is_half = type.bits == 16;
    return context_.device.has_tensor_cores &&
           (is_half || (type == f32 && context_.device.allows_tf32));
  }

  /// Tiles of 64 rows and 64 keys, smaller ones where shared memory holds no more, or there are
  /// fewer.
  bool choose_tiles() {
    const BlockRV scores = stages_.scores.block;
    const auto width = count(schedule_, loops_of(schedule_, scores).reduction);
    const auto columns = count(schedule_, columns_of_mix());
    if (!width || !columns || *columns < 2 || columns_of_mix().size() != 1) return false;
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
      const std::int64_t made = sizeof(float) * (2 * rows_ * keys_ + 8 * rows_);
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

  /// The loops of the product over results that share a row of powers.
  std::vector<LoopRV> columns_of_mix() const {
    const BlockRV mix = stages_.mix.block;
    const auto loops = loops_around(schedule_, schedule_.node(mix));
    std::vector<LoopRV> columns;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const bool is_of_powers =
          std::ranges::find(stages_.mix.places, i) != stages_.mix.places.end();
      if (!is_of_powers) columns.push_back(loops[i]);
    }
    return columns;
  }

  /// The quotient by the sums, and what is made of it, come after the product. A power is at most
  /// 1, and fits what it is rounded to.
  void hoist_quotient() {
    result_ = hoist_factor(schedule_, stages_.mix.block, /*through_casts=*/true);
    while (const auto reader = only_reader(schedule_, result_)) {
      const bool is_inlined = attempt(
          schedule_, [&] { reverse_compute_inline(schedule_, look_up(schedule_, *reader)); });
      if (!is_inlined) return;
    }
  }

  /// Parts of a reduction of rows, one for each tile of keys.
  BlockRV part_of(const Stage& stage) {
    const LoopRV keys = get_loops(schedule_, stage.block)[stage.places[stages_.keys]];
    const auto [tile, inside] = split(schedule_, keys, {infer, keys_}).take<2>();
    return rfactor(schedule_, tile, 0);
  }

  /// Puts the loops over batches, tiles of rows and tiles of keys outside, and gives the last two.
  std::pair<LoopRV, LoopRV> cut_nest(BlockRV block, const std::vector<std::size_t>& places,
                                     Keys keys) {
    std::vector<LoopRV> loops = get_loops(schedule_, block);
    const std::size_t at = places[stages_.keys];
    std::vector<LoopRV> inside;
    LoopRV tile = loops[at];
    if (keys == Keys::whole) {
      const auto parts = split(schedule_, tile, {infer, keys_});
      tile = parts[0];
      inside.push_back(parts[1]);
    } else if (keys == Keys::in_tiles) {
      inside.push_back(loops[at + 1]);
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    std::vector<LoopRV> order;
    for (std::size_t d = 0; d < places.size(); ++d) {
      if (d != stages_.rows && d != stages_.keys) order.push_back(loops[places[d]]);
    }
    const auto rows = split(schedule_, loops[places[stages_.rows]], {infer, rows_});
    order.insert(order.end(), {rows[0], tile, rows[1]});
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (std::ranges::find(places, i) == places.end()) order.push_back(loops[i]);
    }
    order.insert(order.end(), inside.begin(), inside.end());
    reorder(schedule_, order);
    return {rows[0], tile};
  }

  void bind_blocks() {
    std::vector<LoopRV> batch = get_loops(schedule_, stages_.mix.block);
    batch.erase(std::ranges::find(batch, row_), batch.end());
    bind(schedule_, row_, batch.empty() ? "blockIdx.x" : "blockIdx.y");
    if (!batch.empty()) bind(schedule_, in_line(schedule_, batch), "blockIdx.x");
  }

  std::vector<LoopRV> loops_longer_than_one(BlockRV block, LoopRV place) {
    std::vector<LoopRV> loops = loops_inside(schedule_, block, place);
    std::erase_if(loops, [&](LoopRV loop) { return is_const_int(schedule_.get(loop).extent, 1); });
    return loops;
  }

  /// Threads along y have neighbouring rows of all that is made, so that most of it stays in a
  /// warp.
  void share_out_stage(BlockRV block, bool is_of_parts) {
    const bool is_in_step = is_inside(schedule_, schedule_.node(block), schedule_.node(step_));
    const std::vector<LoopRV> loops = loops_longer_than_one(block, is_in_step ? step_ : row_);
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
      const std::vector<LoopRV> loops = loops_longer_than_one(copy, place);
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
    const auto& reads = schedule_.get(mix).reads;
    const auto is_value = [&](const Ptr<BufferRegion>& read) {
      return !read->buffer.same_as(made_by(schedule_, mix)) &&
             !read->buffer.same_as(made_by(schedule_, stages_.powers.block));
    };
    share(mix, std::ranges::find_if(reads, is_value) - reads.begin(), step_, false);
  }

  Schedule& schedule_;
  Stages stages_;
  const RuleContext& context_;
  BlockRV result_{};
  LoopRV row_{}, step_{};
  std::int64_t rows_ = 0, keys_ = 0;  ///< Of a tile.
};

}  // namespace

bool attend(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV mix = subject.blocks[0];
  if (!schedule.get(mix).init || makers(schedule, mix, false).empty()) return false;
  return attempt(schedule, [&] {
    const auto stages = stages_of(schedule, mix);
    return stages && AttentionTiler(schedule, *stages, context).run();
  });
}

}  // namespace loopsmith::gpu
