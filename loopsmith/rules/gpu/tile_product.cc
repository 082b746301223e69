// SPDX-License-Identifier: Apache-2.0
// Products: each of two operands lacks an axis of the result, so that tiles of them are read again
// and again. A block of threads makes a tile of the result; what it needs of the operands, one step
// of the reduction at a time, goes through shared memory; each thread keeps several results in
// registers.
#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/matrix_form.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/tile_product.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"

namespace loopsmith::gpu {
namespace {

/// How a tile of the result is shared out, along its rows and columns.
struct Tiling {
  std::int64_t threads[2]{};
  std::int64_t results[2]{};  ///< Of each thread.
  std::int64_t step = 1;      ///< Of the reduction.

  std::int64_t tile(int side) const { return threads[side] * results[side]; }
};

constexpr std::int64_t smallest_tile = 8, largest_tile = 128, small_tile = 64;
/// Results of a thread along one axis.
constexpr std::int64_t max_results = 8;
/// What a thread reads of a row at once.
constexpr std::int64_t lanes_of_step = 4;
constexpr std::int64_t bytes_of_word = 4;

std::int64_t result_bytes(const Schedule& schedule, BlockRV block) {
  return schedule.get(block).writes[0]->buffer->dtype.bytes();
}

/// Tiles of 128 x 128, of which each of 16 x 16 threads has 8 x 8 results: it reads 16 operands for
/// 64 products. Smaller ones where there are fewer results than make a tile for each
/// multiprocessor, or where they take more registers.
Tiling tiling_for(const Schedule& schedule, BlockRV block, const ProductLoops& product,
                  std::int64_t max_threads) {
  constexpr std::int64_t steps = 16;
  std::int64_t threads = 16;
  while (threads * threads > max_threads) threads /= 2;
  const std::int64_t largest = result_bytes(schedule, block) > 4 ? small_tile : largest_tile;
  const std::optional<std::int64_t> extents[] = {count(schedule, product.rows),
                                                 count(schedule, product.columns)};
  std::int64_t tile[2];
  for (int side = 0; side < 2; ++side) {
    tile[side] = std::min(power_of_two(extents[side].value_or(largest), smallest_tile, largest),
                          threads * max_results);
  }
  const auto blocks = [&] {
    std::int64_t total = count(schedule, product.batch).value_or(wanted_blocks);
    for (int side = 0; side < 2; ++side) {
      total *= extents[side] ? (*extents[side] + tile[side] - 1) / tile[side] : wanted_blocks;
    }
    return total;
  };
  while (blocks() < wanted_blocks && std::max(tile[0], tile[1]) > small_tile) {
    tile[tile[1] >= tile[0] ? 1 : 0] /= 2;
  }
  Tiling tiling;
  for (int side = 0; side < 2; ++side) {
    tiling.threads[side] = std::min(threads, tile[side]);
    tiling.results[side] = tile[side] / tiling.threads[side];
  }
  tiling.step = power_of_two(count(schedule, product.reduction).value_or(steps), 4, steps);
  return tiling;
}

class ProductTiler {
 public:
  /// With `dp4a`, the name of the intrinsic by which threads add four products of bytes at once.
  ProductTiler(Schedule& schedule, BlockRV block, const RuleContext& context, std::string dp4a)
      : schedule_(schedule), block_(block), context_(context), dp4a_(std::move(dp4a)) {}

  void run() {
    look_up_nest(schedule_, block_);
    bring_into_matrix_form(schedule_, block_);
    look_up_nest(schedule_, block_);
    ProductLoops product = require_product_loops(schedule_, block_);
    tiling_ = tiling_for(schedule_, block_, product, context_.device.threads_per_block);
    reorder(schedule_, product.in_order());
    if (const auto padding = padding_of(schedule_, block_, product, tiling_.tile(0),
                                        tiling_.tile(1), tiling_.step)) {
      pad_einsum.attempt(schedule_, block_, *padding);
    }
    look_up_nest(schedule_, block_);
    product = require_product_loops(schedule_, block_);
    const auto [block_row, row, i] = cut(in_line(schedule_, product.rows), 0);
    const auto [block_column, column, j] = cut(in_line(schedule_, product.columns), 1);
    const std::int64_t fewest = std::max(tiling_.step / 2, has_words() ? bytes_of_word : 1);
    const Factor depth = context_.number(schedule_, tiling_.step, {fewest, tiling_.step * 2});
    auto [step, k] =
        split(schedule_, in_line(schedule_, product.reduction), {infer, depth}).take<2>();
    std::vector<LoopRV> order = {block_row, block_column, row, column, step, k, i, j};
    if (has_words()) {
      const auto parts = split(schedule_, k, {infer, bytes_of_word});
      k = order[5] = parts[0];
      order.push_back(parts[1]);
    }
    reorder(schedule_, order);
    if (!product.batch.empty()) bind(schedule_, in_line(schedule_, product.batch), "blockIdx.z");
    bind_all(schedule_, {block_row, block_column}, "blockIdx");
    bind_all(schedule_, {row, column}, "threadIdx");
    keep_results(schedule_, block_, column);
    const bool are_shared = share_tile(product.row_operand, step, /*is_of_columns=*/false) &&
                            share_tile(product.column_operand, step, /*is_of_columns=*/true);
    const bool is_apart = decompose_reduction.attempt(schedule_, block_, step).has_value();
    if (are_shared && is_apart && context_.device.has_async_copies) {
      copy_ahead(schedule_, step, stages_for(step));
    }
    if (has_words()) tensorize(schedule_, order.back(), dp4a_);
    // Operands of neighbouring steps lie side by side in a row.
    std::vector<LoopRV> unrolled = {i, j};
    if (tiling_.results[0] * tiling_.results[1] > lanes_of_step * lanes_of_step) {
      unrolled.push_back(has_words() ? k : split(schedule_, k, {infer, lanes_of_step})[1]);
    }
    for (const LoopRV loop : unrolled) unroll.attempt(schedule_, loop);
    require_no_obligations(schedule_, "tile_product");
  }

 private:
  struct Parts {
    LoopRV blocks, threads, results;
  };
  /// Results of a thread are neighbours: a rectangle, which another block can take from it.
  Parts cut(LoopRV loop, int side) {
    const std::int64_t own = tiling_.results[side];
    const Factor results =
        own == 1 ? Factor(own) : context_.number(schedule_, own, {own / 2, own * 2});
    const auto parts = split(schedule_, loop, {infer, tiling_.threads[side], results});
    return {parts[0], parts[1], parts[2]};
  }

  /// Where tiles of several steps are there at once, a launch gives the memory.
  std::string scope() const { return context_.device.has_async_copies ? "shared.dyn" : "shared"; }

  /// As many steps as are there, up to three, in half of the shared memory: a search may choose
  /// larger tiles.
  std::int64_t stages_for(LoopRV step) const {
    std::int64_t bytes = 1;
    for (const Ptr<BufferRegion>& read : schedule_.get(block_).reads) {
      bytes = std::max<std::int64_t>(bytes, read->buffer->dtype.bytes());
    }
    const std::int64_t of_step = (tiling_.tile(0) + tiling_.tile(1)) * (tiling_.step + 1) * bytes;
    const std::int64_t fitting = context_.device.shared_pool_bytes / (2 * of_step);
    const std::int64_t* steps = as_int(schedule_.get(step).extent);
    return std::min<std::int64_t>({3, fitting, steps ? *steps : 3});
  }

  /// The part of an operand that a block of threads reads in one step.
  bool share_tile(std::int64_t operand, LoopRV step, bool is_of_columns) {
    return attempt(schedule_, [&] {
      const BlockRV copy = cache_read(schedule_, block_, BufferSelector(operand), scope());
      compute_at(schedule_, copy, step, /*preserve_unit_loops=*/true);
      const Block& body = schedule_.get(copy);
      const DataType type = body.writes[0]->buffer->dtype;
      const auto rank = static_cast<std::int64_t>(body.writes[0]->buffer->shape.size());
      // Neighbouring threads that read rows of steps would all read from the same few banks.
      const bool lies_across =
          is_of_columns && reads_steps_last(schedule_, block_, operand) && rank >= 2;
      const std::int64_t together = has_words() ? bytes_of_word : 1;
      const std::int64_t elements =
          count(schedule_, loops_inside(schedule_, copy, step)).value_or(1);
      const std::int64_t of_thread = elements / (tiling_.threads[0] * tiling_.threads[1]);
      const std::int64_t lanes =
          lies_across ? together : std::clamp<std::int64_t>(of_thread, 1, 16 / type.bytes());
      share_out(schedule_, copy, step, {tiling_.threads[0], tiling_.threads[1]}, lanes);
      inline_makers(schedule_, copy);
      if (lies_across && tiling_.step > together) {
        storage_align(schedule_, copy, BufferSelector(0), rank - 2, tiling_.step, together);
      }
      if (has_words()) {
        lay_out_words(operand);
      } else if (is_of_columns && !lies_across) {
        lay_out_for_threads(copy);
      }
      require_no_obligations(schedule_, "tile_product");
    });
  }

  /// What threads side by side read at once lies side by side: of the neighbours that each of them
  /// reads in turn, the first of all threads come before the second.
  ///
  ///     j = thread * 8 + read * 4 + lane   =>   (read, thread, lane)
  void lay_out_for_threads(BlockRV copy) {
    const Ptr<Buffer> tile = schedule_.get(copy).writes[0]->buffer;
    const int own = static_cast<int>(tiling_.results[1]), lanes = 16 / tile->dtype.bytes();
    const std::int64_t* columns = as_int(tile->shape.back());
    if (lanes < 2 || own <= lanes || !columns || *columns % own != 0) return;
    IndexMap map;
    for (std::size_t d = 0; d < tile->shape.size(); ++d) {
      map.initial_indices.push_back(var(fmt::format("i{}", d), tile->shape[d].dtype()));
      map.final_indices.emplace_back(map.initial_indices.back());
    }
    const Expr j = map.final_indices.back();
    map.final_indices.back() = floordiv(floormod(j, own), lanes);
    map.final_indices.push_back(floordiv(j, own));
    map.final_indices.push_back(floormod(j, lanes));
    transform_layout.attempt(schedule_, copy, BufferSelector(0), make(std::move(map)));
  }

  /// Four steps of the sum side by side, where they are not: (..., k, ...) => (..., k / 4, ..., k %
  /// 4)
  void lay_out_words(std::int64_t operand) {
    if (reads_steps_last(schedule_, block_, operand)) return;
    const BufferRegion& read = *schedule_.get(block_).reads[static_cast<std::size_t>(operand)];
    const std::size_t steps = *dimension_of_steps(schedule_, block_, operand);
    IndexMap map;
    for (std::size_t d = 0; d < read.region.size(); ++d) {
      const Ptr<Var> i = var(fmt::format("i{}", d), read.buffer->shape[d].dtype());
      map.initial_indices.push_back(i);
      map.final_indices.push_back(d == steps ? floordiv(i, static_cast<int>(bytes_of_word))
                                             : Expr(i));
    }
    map.final_indices.push_back(
        floormod(map.initial_indices[steps], static_cast<int>(bytes_of_word)));
    transform_layout(schedule_, block_, BufferSelector(operand, BufferSelector::Side::read),
                     make(std::move(map)));
  }

  bool has_words() const { return !dp4a_.empty(); }

  Schedule& schedule_;
  BlockRV block_;
  const RuleContext& context_;
  std::string dp4a_;
  Tiling tiling_{};
};

/// The intrinsic by which threads of the device multiply what the block does: `dp4a_s8s8s32`; empty
/// where there is none.
std::string dp4a_for(const Schedule& schedule, BlockRV block, const GpuLimits& device) {
  const Block& body = schedule.get(block);
  const DataType sum = body.writes[0]->buffer->dtype;
  std::string name = "dp4a_";
  for (const Ptr<BufferRegion>& read : body.reads) {
    const DataType type = read->buffer->dtype;
    if (type != i8 && type != u8) return {};
    name += type == i8 ? "s8" : "u8";
  }
  if (!device.has_dp4a || (sum != i32 && sum != u32)) return {};
  return name + (sum == i32 ? "s32" : "u32") + (device.has_async_copies ? "_shared_dyn" : "");
}

}  // namespace

bool tile_product(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const auto product = product_loops(schedule, block);
  const auto points = product ? count(schedule, product->reduction) : std::nullopt;
  if (!product || points == 0) return false;
  const auto is_tiled = [&](const std::string& dp4a) {
    return attempt(schedule, [&] { ProductTiler(schedule, block, context, dp4a).run(); });
  };
  const std::string dp4a = dp4a_for(schedule, block, context.device);
  return (!dp4a.empty() && is_tiled(dp4a)) || is_tiled({});
}

}  // namespace loopsmith::gpu
