// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores. A block of threads makes a tile of results, each of its warps a part of
// it, which it holds in registers as fragments of 16 x 16, or 16 rows of it, where four warps
// multiply together. Tiles of the operands are copied into
// shared memory by 16 bytes, while those of the steps before are multiplied. Results that others
// read, or of which a part is padding, go back through shared memory.
#include "loopsmith/rules/gpu/tensor_core_product.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/rules/gpu/matrix_form.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/warp_tiling.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

/// Types that tensor cores multiply and sum, by the names of the intrinsics.
struct FragmentTypes {
  DataType operand, sum;
  std::string_view operand_name, sum_name;
};
constexpr FragmentTypes fragment_types[] = {
    {f16, f32, "f16", "f32"}, {f16, f16, "f16", "f16"},  {bf16, f32, "bf16", "f32"},
    {i8, i32, "s8", "s32"},   {f32, f32, "tf32", "f32"},
};

const FragmentTypes* types_of(const Schedule& schedule, BlockRV block, const GpuLimits& device) {
  const Block& body = schedule.get(block);
  for (const FragmentTypes& types : fragment_types) {
    const bool has_operands = std::ranges::all_of(
        body.reads, [&](const auto& read) { return read->buffer->dtype == types.operand; });
    const bool is_allowed = types.operand != f32 || device.allows_tf32;
    if (has_operands && is_allowed && body.writes[0]->buffer->dtype == types.sum) return &types;
  }
  return nullptr;
}

class TensorCoreTiler {
 public:
  TensorCoreTiler(Schedule& schedule, BlockRV block, const FragmentTypes& types,
                  const WarpTiling& tiling)
      : schedule_(schedule), block_(block), types_(types), tiling_(tiling) {}

  void run() {
    look_up_nest(schedule_, block_);
    bring_into_matrix_form(schedule_, block_);
    look_up_nest(schedule_, block_);
    ProductLoops product = require_product_loops(schedule_, block_);
    reorder(schedule_, product.in_order());
    if (const auto padding = padding_of(schedule_, block_, product, tiling_.tile[0],
                                        tiling_.tile[1], tiling_.step)) {
      pad_einsum(schedule_, block_, *padding);
    }
    look_up_nest(schedule_, block_);
    product = require_product_loops(schedule_, block_);
    if (tiling_.is_of_warpgroups) {
      multiply_in_warpgroups(product);
    } else {
      multiply_in_warps(product);
    }
    require_no_obligations(schedule_, "tensor_core_product");
  }

 private:
  /// Each warp multiplies fragments, which it loads from shared memory.
  void multiply_in_warps(const ProductLoops& product) {
    const auto [block_row, row, row_fragment, i] = cut(in_line(schedule_, product.rows), 0);
    const auto [block_column, column, column_fragment, j] =
        cut(in_line(schedule_, product.columns), 1);
    const auto [step, depth, k] =
        split(schedule_, in_line(schedule_, product.reduction), {infer, tiling_.step / 16, 16})
            .take<3>();
    reorder(schedule_, {block_row, block_column, row, column, step, depth, row_fragment,
                        column_fragment, i, j, k});
    const BlockRV sums = cache_write(schedule_, block_, BufferSelector(0), "wmma.accumulator");
    reverse_compute_at(schedule_, sums, column, /*preserve_unit_loops=*/true);
    const std::optional<BlockRV> last = take_over_results(sums, block_column);
    // While no loop is bound, copies of warps cost little to place.
    const std::int64_t numbers[] = {product.row_operand, product.column_operand};
    BlockRV loads[2];
    bool is_transposed[2];
    for (int side = 0; side < 2; ++side) {
      is_transposed[side] = reads_steps_last(schedule_, block_, numbers[side]) == (side == 1);
      loads[side] = cache_read(schedule_, block_, BufferSelector(numbers[side]),
                               side == 0 ? "wmma.matrix_a" : "wmma.matrix_b");
      compute_at(schedule_, loads[side], depth, /*preserve_unit_loops=*/true);
    }
    if (!product.batch.empty()) bind(schedule_, in_line(schedule_, product.batch), "blockIdx.z");
    bind_all(schedule_, {block_row, block_column}, "blockIdx");
    bind(schedule_, row, "threadIdx.z");
    bind(schedule_, column, "threadIdx.y");
    for (int side = 0; side < 2; ++side) {
      const BlockRV copy = share_tile(loads[side], BufferSelector(0), step);
      // Elements of 32 bits whose neighbours are no steps of the sum are loaded one by one.
      const bool lies_across = types_.operand.bytes() == 4 && is_transposed[side] == (side == 0);
      storage_align(schedule_, copy, BufferSelector(0), -2, 32,
                    gap_of(types_.operand.bytes()) * (lies_across ? 2 : 1));
    }
    if (last) share_results(sums, *last, block_column);
    const BlockRV first = decompose_reduction(schedule_, block_, step);
    std::vector<Tile> tiles = {
        {i, fmt::format("wmma_sync_16x16x16_{0}{0}{1}{2}", types_.operand_name, types_.sum_name,
                        suffix(is_transposed))}};
    for (int side = 0; side < 2; ++side) {
      tiles.push_back(tile_of(
          loads[side],
          fmt::format("wmma_load_16x16x16_{}_{}{}_{}", types_.operand_name, side == 0 ? 'a' : 'b',
                      is_transposed[side] ? "_trans" : "", "shared_dyn")));
    }
    tiles.push_back(tile_of(first, fmt::format("wmma_fill_16x16x16_{}", types_.sum_name)));
    tiles.push_back(tile_of(sums, fmt::format("wmma_store_16x16x16_{}_{}", types_.sum_name,
                                              last ? "shared_dyn" : "global")));
    // The product first, while what it reads is seen by its indices.
    for (const Tile& tile : tiles) tensorize(schedule_, tile.loop, tile.intrinsic);
    for (const LoopRV loop : {row_fragment, column_fragment}) unroll(schedule_, loop);
    copy_ahead(schedule_, step, tiling_.stages);
  }

  /// Four warps together multiply 64 rows from shared memory; each has the results of 16 of them.
  void multiply_in_warpgroups(const ProductLoops& product) {
    const std::int64_t in_turn = rows_in_turn(product);
    const auto [turn, block_row, warp, i] =
        split(schedule_, in_line(schedule_, product.rows), {infer, in_turn, tiling_.warps[0], 16})
            .take<4>();
    const auto [block_column, j] =
        split(schedule_, in_line(schedule_, product.columns), {infer, tiling_.tile[1]}).take<2>();
    const auto [step, k] =
        split(schedule_, in_line(schedule_, product.reduction), {infer, tiling_.step}).take<2>();
    reorder(schedule_, {turn, block_column, block_row, warp, step, i, j, k});
    const BlockRV sums = cache_write(schedule_, block_, BufferSelector(0), "wmma.accumulator");
    reverse_compute_at(schedule_, sums, warp, /*preserve_unit_loops=*/true);
    const std::optional<BlockRV> last = take_over_results(sums, block_row);
    const std::int64_t numbers[] = {product.row_operand, product.column_operand};
    bool is_transposed[2];
    for (int side = 0; side < 2; ++side) {
      is_transposed[side] = reads_steps_last(schedule_, block_, numbers[side]) == (side == 1);
    }
    std::vector<LoopRV> outermost = product.batch;
    outermost.push_back(turn);
    bind_all(schedule_, {in_line(schedule_, outermost), block_column, block_row}, "blockIdx");
    bind(schedule_, warp, "threadIdx.z");
    const TileParts parts[] = {parts_for_engine(numbers[0], 0, is_transposed[0]),
                               parts_for_engine(numbers[1], 1, is_transposed[1])};
    // Beside copies of threads the engine copies nothing.
    const bool by_engine = parts[0].rows > 0 && parts[1].rows > 0;
    for (int side = 0; side < 2; ++side) {
      if (by_engine) {
        copy_by_engine(numbers[side], parts[side], step);
      } else {
        share_tile(block_, BufferSelector(numbers[side]), step);
      }
    }
    if (last) share_results(sums, *last, block_row);
    const BlockRV first = decompose_reduction(schedule_, block_, step);
    const std::vector<Tile> tiles = {
        {i, fmt::format("wgmma_sync_16x{0}x{1}_{2}{2}{3}{4}", tiling_.tile[1], tiling_.step,
                        types_.operand_name, types_.sum_name, suffix(is_transposed))},
        tile_of(first, fmt::format("wmma_fill_16x16x16_{}", types_.sum_name)),
        tile_of(sums, fmt::format("wmma_store_16x16x16_{}_{}", types_.sum_name,
                                  last ? "shared_dyn" : "global"))};
    for (const Tile& tile : tiles) tensorize(schedule_, tile.loop, tile.intrinsic);
    // With a step to spare, products are in flight while the next begins.
    constexpr std::int64_t least_stages = 4;
    const std::int64_t in_flight = tiling_.stages >= least_stages ? 1 : 0;
    copy_ahead(schedule_, step, tiling_.stages - in_flight);
    if (in_flight > 0) {
      annotate(schedule_, step, "software_pipeline_products_in_flight",
               Annotation(int_imm(i32, in_flight)));
    }
  }

  /// Into how many parts a tile is cut along its rows and columns, one for each warp.
  struct TileParts {
    std::int64_t rows = 0, columns = 0;
  };

  /// The parts of rows of 128 bytes for which the copy engine is asked. None where the operand is
  /// not an array as it was given, or its rows do not begin at multiples of 16 bytes.
  TileParts parts_for_engine(std::int64_t number, int side, bool is_transposed) const {
    const Block& body = schedule_.get(block_);
    const Ptr<Buffer>& source = body.reads[static_cast<std::size_t>(number)]->buffer;
    const bool is_given =
        std::ranges::any_of(schedule_.func()->buffer_map,
                            [&](const Ptr<Buffer>& each) { return each.same_as(source); });
    const std::int64_t bytes = types_.operand.bytes(), columns_of_row = 128 / bytes;
    const std::int64_t* stride = as_int(source->shape.back());
    const bool is_aligned = stride && *stride * bytes % 16 == 0 && source->strides.empty();
    if (!is_given || !is_aligned) return {};
    const bool has_steps_last = is_transposed == (side == 1);
    const std::int64_t columns = has_steps_last ? tiling_.step : tiling_.tile[side];
    const std::int64_t rows = has_steps_last ? tiling_.tile[side] : tiling_.step;
    const std::int64_t column_parts = columns / columns_of_row;
    if (column_parts == 0 || tiling_.warps[0] % column_parts != 0) return {};
    const std::int64_t row_parts = tiling_.warps[0] / column_parts;
    return rows % (row_parts * 8) == 0 ? TileParts{row_parts, column_parts} : TileParts{};
  }

  /// Leaves a tile of an array to the copy engine: the first thread of each warp asks for a part.
  void copy_by_engine(std::int64_t number, const TileParts& parts, LoopRV step) {
    const BlockRV copy = cache_read(schedule_, block_, BufferSelector(number), scope_);
    compute_at(schedule_, copy, step, /*preserve_unit_loops=*/true);
    const std::vector<LoopRV> loops = loops_inside(schedule_, copy, step);
    const auto [row_part, row] =
        split(schedule_, loops[loops.size() - 2], {parts.rows, infer}).take<2>();
    const auto [column_part, column] =
        split(schedule_, loops.back(), {parts.columns, infer}).take<2>();
    reorder(schedule_, {row_part, column_part, row, column});
    bind(schedule_, fuse(schedule_, {row_part, column_part}), "threadIdx.z");
  }

  /// Blocks whose tiles lie near each other run at a time, where operands are more than the cache
  /// of a device keeps: of so many rows of tiles first one column, then the next.
  std::int64_t rows_in_turn(const ProductLoops& product) const {
    constexpr std::int64_t kept_bytes = std::int64_t{32} << 20, max_in_turn = 8;
    const auto rows = count(schedule_, product.rows), columns = count(schedule_, product.columns),
               steps = count(schedule_, product.reduction);
    if (!rows || !columns || !steps) return 1;
    if ((*rows + *columns) * *steps * types_.operand.bytes() <= kept_bytes) return 1;
    std::int64_t in_turn = max_in_turn;
    while (*rows / tiling_.tile[0] % in_turn != 0) in_turn /= 2;
    return in_turn;
  }

  /// A loop around a tile of 16 x 16, and what takes its place.
  struct Tile {
    LoopRV loop;
    std::string intrinsic;
  };

  /// Which operands of a product are stored by their columns.
  static std::string_view suffix(const bool (&is_transposed)[2]) {
    if (is_transposed[0]) return is_transposed[1] ? "_trans_both" : "_trans_left";
    return is_transposed[1] ? "_trans" : "";
  }

  struct Parts {
    LoopRV blocks, warps, fragments, elements;
  };
  Parts cut(LoopRV loop, int side) {
    const auto parts =
        split(schedule_, loop, {infer, tiling_.warps[side], tiling_.fragments(side), 16});
    return {parts[0], parts[1], parts[2], parts[3]};
  }

  std::vector<SplitFactor> threads() const { return {tiling_.warps[0], tiling_.warps[1], 32}; }

  /// The block that takes the results, as they are or what is made of them, from a tile in shared
  /// memory; none where they are stored as they are.
  std::optional<BlockRV> take_over_results(BlockRV sums, LoopRV tile) {
    std::optional<BlockRV> last;
    const bool is_taken = attempt(schedule_, [&] {
      const auto reader = only_reader(schedule_, sums);
      if (!reader) return;
      const BlockRV first = look_up(schedule_, *reader);
      while (const auto next = only_reader(schedule_, first)) {
        const bool is_inlined = attempt(
            schedule_, [&] { reverse_compute_inline(schedule_, look_up(schedule_, *next)); });
        if (!is_inlined) break;
      }
      set_scope(schedule_, sums, BufferSelector(0), scope_);
      reverse_compute_at(schedule_, first, tile, /*preserve_unit_loops=*/true);
      last = first;
    });
    return is_taken ? last : std::nullopt;
  }

  /// The part of an operand that a block of threads reads in one step.
  BlockRV share_tile(BlockRV reader, const BufferSelector& operand, LoopRV step) {
    const BlockRV copy = cache_read(schedule_, reader, operand, scope_);
    compute_at(schedule_, copy, step, /*preserve_unit_loops=*/true);
    const std::int64_t bytes = types_.operand.bytes();
    const std::int64_t elements = count(schedule_, loops_inside(schedule_, copy, step)).value_or(1);
    const std::int64_t of_thread = elements / (tiling_.warp_count() * 32);
    share_out(schedule_, copy, step, threads(), std::clamp<std::int64_t>(of_thread, 1, 16 / bytes));
    inline_makers(schedule_, copy);
    return copy;
  }

  void share_results(BlockRV sums, BlockRV last, LoopRV tile) {
    const DataType written = schedule_.get(last).writes[0]->buffer->dtype;
    const std::int64_t bytes = std::max(types_.sum.bytes(), written.bytes());
    share_out(schedule_, last, tile, threads(), 16 / bytes);
    storage_align(schedule_, sums, BufferSelector(0), -2, 32, gap_of(types_.sum.bytes()) * 2);
  }

  /// Cuts the last two loops of a copy of tiles.
  Tile tile_of(BlockRV copy, std::string intrinsic) {
    const Handles<LoopRV> loops = get_loops(schedule_, copy);
    const auto [row_tile, i] = split(schedule_, loops[loops.size() - 2], {infer, 16}).take<2>();
    const auto [column_tile, j] = split(schedule_, loops[loops.size() - 1], {infer, 16}).take<2>();
    reorder(schedule_, {row_tile, column_tile, i, j});
    // Which of its fragments a warp uses has to be known: they are registers.
    for (const LoopRV loop : {row_tile, column_tile}) unroll(schedule_, loop);
    return {i, std::move(intrinsic)};
  }

  Schedule& schedule_;
  BlockRV block_;
  const FragmentTypes& types_;
  const WarpTiling tiling_;
  const std::string scope_ = "shared.dyn";
};

}  // namespace

bool tensor_core_product(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  if (!context.device.has_tensor_cores) return false;
  const auto product = product_loops(schedule, block);
  const FragmentTypes* types = product ? types_of(schedule, block, context.device) : nullptr;
  if (!types || count(schedule, product->reduction) == 0) return false;
  const WarpTilingRequest request{.rows = count(schedule, product->rows),
                                  .columns = count(schedule, product->columns),
                                  .steps = count(schedule, product->reduction),
                                  .batch = count(schedule, product->batch),
                                  .operand_bytes = types->operand.bytes(),
                                  .result_bytes = types->sum.bytes(),
                                  .has_warpgroup_products = context.device.has_warpgroup_products &&
                                                            types->operand.bits == 16 &&
                                                            types->sum == f32};
  const std::optional<WarpTiling> tiling = warp_tiling(request, context.device);
  if (!tiling) return false;
  return attempt(schedule, [&] { TensorCoreTiler(schedule, block, *types, *tiling).run(); });
}

}  // namespace loopsmith::gpu
