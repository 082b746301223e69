// SPDX-License-Identifier: Apache-2.0
// Each warp of a block of threads has 16 rows, and goes over the keys and values with the others,
// which copy tiles of these into shared memory while those before are used. A thread of the warp
// computes with the elements of fragments that it holds: four threads share a row, and tell each
// other maxima and sums through shared memory.
#include "loopsmith/rules/gpu/attend_on_tensor_cores.h"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>
#include <span>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/gpu/matrix_form.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/online_attention.h"
#include "loopsmith/rules/gpu/warp_tiling.h"
#include "loopsmith/schedule/primitives/annotate.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/primitives/transform_layout.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t fragment = 16, max_warps = 8, max_keys = 64;
/// Of queries and of values: what a thread holds of both stays in registers.
constexpr std::int64_t max_columns = 128;

/// A loop around a tile of 16 x 16, and what takes its place.
struct Tile {
  LoopRV loop;
  std::string intrinsic;
};

class TensorCoreAttention {
 public:
  TensorCoreAttention(Schedule& schedule, const AttentionStages& stages, const RuleContext& context)
      : schedule_(schedule), stages_(stages), context_(context) {}

  bool run() {
    if (!choose_tiles()) return false;
    const BlockRV scores = stages_.scores.block, mix = stages_.mix.block;
    const std::int64_t queries = stages_.queries, keys = 1 - queries,
                       values = number_of_values(schedule_, stages_);
    if (!reads_steps_last(schedule_, scores, queries)) return false;
    const bool keys_lie_in_rows = reads_steps_last(schedule_, scores, keys),
               values_lie_in_columns = reads_steps_last(schedule_, mix, values);
    type_ = schedule_.get(mix).reads[static_cast<std::size_t>(values)]->buffer->dtype;
    online_ = merge_stages(schedule_, stages_,
                           {.rows = {infer, warps_, fragment},
                            .keys = keys_,
                            .rounds_exponentials = true,
                            .padding = AttentionPadding{warps_ * fragment, keys_, fragment}});
    compute_at(schedule_, scores, online_.step, /*preserve_unit_loops=*/true);
    const BlockRV parts[] = {part_of_threads(online_.maxima), part_of_threads(online_.sums)};
    const Handles<BlockRV> blocks = get_child_blocks(schedule_, online_.rows);
    for (const BlockRV block : blocks) place(block);
    // While no loop is bound, copies of warps cost little to place.
    const Product first = in_tiles(scores), second = in_tiles(mix);
    const BlockRV query_tiles = load(scores, queries, "wmma.matrix_a", online_.rows),
                  key_tiles = load(scores, keys, "wmma.matrix_b", first.step),
                  value_tiles = load(mix, values, "wmma.matrix_b", second.step);
    const LoopRV rows = bind_blocks();
    share(query_tiles, rows);
    const BlockRV copies[] = {share(key_tiles, online_.step), share(value_tiles, online_.step)};
    std::vector<Tile> tiles = {
        product_tile(first, keys_lie_in_rows),
        product_tile(second, values_lie_in_columns),
        tile_of(decompose_reduction(schedule_, scores, first.column), "wmma_fill_16x16x16_f32"),
        load_tile(query_tiles, 'a', false),
        load_tile(key_tiles, 'b', keys_lie_in_rows),
        load_tile(value_tiles, 'b', values_lie_in_columns)};
    std::vector<BlockRV> of_tiles{online_.result}, of_rows;
    for (const BlockRV block : blocks) {
      if (block == online_.result || block == scores || block == mix) continue;
      if (starts_results(block)) {
        tiles.push_back(tile_of(block, "wmma_fill_16x16x16_f32"));
      } else {
        (makes_fragments(block) ? of_tiles : of_rows).push_back(block);
      }
    }
    // The products first, while what they read is seen by its indices.
    for (const Tile& tile : tiles) tensorize(schedule_, tile.loop, tile.intrinsic);
    for (const BlockRV block : parts) share_out_parts(block);
    for (const BlockRV block : of_tiles) share_out_tile(block);
    for (const BlockRV block : of_rows) bind(schedule_, own_loops(block).at(0), "threadIdx.x");
    copy_ahead(copies);
    return true;
  }

 private:
  /// As many rows as give each multiprocessor a block, and of both as few beyond the end as may be.
  bool choose_tiles() {
    const BlockRV scores = stages_.scores.block;
    const auto width = in_fragments(count(schedule_, loops_of(schedule_, scores).reduction));
    const auto columns = in_fragments(count(schedule_, columns_of(schedule_, stages_.mix)));
    if (!width || !columns || *width > max_columns || *columns > max_columns ||
        columns_of(schedule_, stages_.mix).size() != 1) {
      return false;
    }
    const auto& shape = made_by(schedule_, scores)->shape;
    const auto extent_of = [&](std::size_t dimension) {
      return count(schedule_, {loop_of(schedule_, stages_.scores, dimension)});
    };
    const std::optional<std::int64_t> rows = extent_of(stages_.rows),
                                      keys = extent_of(stages_.keys);
    // Of a single row or column there is no loop to share out.
    if (keys == 0 || rows.value_or(2) < 2 ||
        count(schedule_, columns_of(schedule_, stages_.mix)) == 1) {
      return false;
    }
    std::int64_t batch = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d != stages_.rows && d != stages_.keys) batch *= extent_of(d).value_or(wanted_blocks);
    }
    for (warps_ = rows ? max_warps : max_warps / 2; warps_ > 1; warps_ /= 2) {
      const std::int64_t tile = warps_ * fragment;
      const std::int64_t blocks = rows ? batch * ((*rows + tile - 1) / tile) : wanted_blocks;
      if (wastes_little(rows, tile, 4) && (blocks >= wanted_blocks || warps_ == 2)) break;
    }
    // Two blocks of threads at once, where they fit: one goes on while another waits.
    const auto fits = [&](std::int64_t tile, std::int64_t blocks_at_once) {
      const std::int64_t gap = gap_of(2), stages = context_.device.has_async_copies ? 2 : 1;
      const std::int64_t elements =
          warps_ * fragment * (*width + gap) + stages * tile * (*width + gap + *columns + gap);
      return elements * 2 * blocks_at_once <= context_.device.shared_pool_bytes;
    };
    for (const std::int64_t blocks_at_once : {2, 1}) {
      for (keys_ = max_keys; keys_ >= fragment; keys_ /= 2) {
        if (wastes_little(keys, keys_, 8) && fits(keys_, blocks_at_once)) return true;
      }
    }
    return false;
  }

  static std::optional<std::int64_t> in_fragments(std::optional<std::int64_t> extent) {
    if (!extent || *extent < 1) return {};
    return (*extent + fragment - 1) / fragment * fragment;
  }

  /// True where tiles go beyond the end by that part of it at most more than fragments do.
  static bool wastes_little(std::optional<std::int64_t> extent, std::int64_t tile,
                            std::int64_t part) {
    if (!extent) return true;
    const std::int64_t all = (*extent + tile - 1) / tile * tile;
    return all - *in_fragments(extent) <= *extent / part;
  }

  /// Parts of a reduction of rows, one for each of the four threads that share a row.
  BlockRV part_of_threads(BlockRV block) {
    const auto parts = split(schedule_, get_loops(schedule_, block).back(), {infer, 4, 2});
    return rfactor(schedule_, parts[1], 0);
  }

  /// Gives the loop over tiles of rows.
  LoopRV bind_blocks() {
    std::vector<LoopRV> batch = get_loops(schedule_, stages_.mix.block);
    batch.erase(std::ranges::find(batch, online_.rows), batch.end());
    const LoopRV rows = batch.back();
    batch.pop_back();
    bind(schedule_, rows, batch.empty() ? "blockIdx.x" : "blockIdx.y");
    if (!batch.empty()) bind(schedule_, in_line(schedule_, batch), "blockIdx.x");
    bind(schedule_, online_.rows, "threadIdx.y");
    return rows;
  }

  /// The part of an operand that the warps of a block load from.
  BlockRV share(BlockRV tiles, LoopRV place) {
    const BlockRV copy = cache_read(schedule_, tiles, BufferSelector(0), "shared.dyn");
    compute_at(schedule_, copy, place, /*preserve_unit_loops=*/true);
    put_matrix_last(copy);
    const auto rank = static_cast<std::int64_t>(made_by(schedule_, copy)->shape.size());
    const std::int64_t elements = count(schedule_, loops_inside(schedule_, copy, place)).value();
    const std::int64_t lanes = std::clamp<std::int64_t>(elements / (warps_ * 32), 1, 8);
    share_out(schedule_, copy, place, {warps_, 32}, lanes);
    storage_align(schedule_, copy, BufferSelector(0), rank - 2, 32, gap_of(2));
    inline_makers(schedule_, copy);
    return copy;
  }

  bool makes(BlockRV block, const AttentionStage& stage) const {
    return made_by(schedule_, block).same_as(made_by(schedule_, stage.block));
  }
  bool is_in_step(BlockRV block) const {
    return is_inside(schedule_, schedule_.node(block), schedule_.node(online_.step));
  }
  bool starts_results(BlockRV block) const {
    return makes(block, stages_.mix) && !is_in_step(block);
  }
  bool makes_fragments(BlockRV block) const {
    return is_fragment(memory_scope(*made_by(schedule_, block)));
  }
  /// Those of a warp, in a step or before all of them.
  std::vector<LoopRV> own_loops(BlockRV block) {
    return loops_longer_than_one(schedule_, block, is_in_step(block) ? online_.step : online_.rows);
  }

  /// Tiles are fragments of warps, what is known of rows is shared.
  void place(BlockRV block) {
    if (block == online_.result ||
        memory_scope(*made_by(schedule_, block)) != MemoryScope::global) {
      return;
    }
    const bool is_sum = makes(block, stages_.scores) || makes(block, stages_.exponentials) ||
                        makes(block, stages_.mix);
    set_scope(schedule_, block, BufferSelector(0),
              block == *online_.rounded ? "wmma.matrix_a"
              : is_sum                  ? "wmma.accumulator"
                                        : "shared");
  }

  BlockRV load(BlockRV reader, std::int64_t operand, const std::string& scope, LoopRV place) {
    const BlockRV tiles = cache_read(schedule_, reader, BufferSelector(operand), scope);
    compute_at(schedule_, tiles, place, /*preserve_unit_loops=*/true);
    put_matrix_last(tiles);
    return tiles;
  }

  /// Makes rows and columns the last dimensions of a copy, as instructions ask for.
  void put_matrix_last(BlockRV copy) {
    const auto& shape = made_by(schedule_, copy)->shape;
    const std::vector<LoopRV> all = get_loops(schedule_, copy);
    std::vector<LoopRV> loops(all.end() - static_cast<std::ptrdiff_t>(shape.size()), all.end());
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t d) { return is_const_int(schedule_.get(loops[d]).extent, 1); });
    if (std::ranges::is_sorted(order)) return;
    IndexMap map;
    for (const Expr& extent : shape) map.initial_indices.push_back(var("i", extent.dtype()));
    std::vector<LoopRV> matrix_last;
    for (const std::size_t d : order) {
      map.final_indices.push_back(map.initial_indices[d]);
      matrix_last.push_back(loops[d]);
    }
    transform_layout(schedule_, copy, BufferSelector(0, BufferSelector::Side::write),
                     make(std::move(map)));
    reorder(schedule_, matrix_last);
  }

  /// The loops of a product of a warp over tiles, and the first of those inside.
  struct Product {
    LoopRV column, step, row;
  };
  Product in_tiles(BlockRV block) {
    const std::vector<LoopRV> loops = loops_longer_than_one(schedule_, block, online_.step);
    require(loops.size() == 3, ErrorKind::schedule, "product_is_of_a_warp", hint("keep the form"),
            {}, "the product has {} loops in a step", loops.size());
    const auto [column, j] = split(schedule_, loops[1], {infer, fragment}).take<2>();
    const auto [step, k] = split(schedule_, loops[2], {infer, fragment}).take<2>();
    reorder(schedule_, {column, step, loops[0], j, k});
    for (const LoopRV loop : {column, step}) unroll(schedule_, loop);
    return {column, step, loops[0]};
  }

  std::string_view type_name() const { return type_ == f16 ? "f16" : "bf16"; }

  Tile product_tile(const Product& product, bool is_transposed) const {
    return {product.row, fmt::format("wmma_sync_16x16x16_{0}{0}f32{1}", type_name(),
                                     is_transposed ? "_trans" : "")};
  }
  Tile load_tile(BlockRV tiles, char side, bool is_transposed) {
    return tile_of(tiles, fmt::format("wmma_load_16x16x16_{}_{}{}_shared_dyn", type_name(), side,
                                      is_transposed ? "_trans" : ""));
  }
  Tile tile_of(BlockRV block, std::string intrinsic) {
    const Handles<LoopRV> loops = get_loops(schedule_, block);
    const auto [row, i] = split(schedule_, loops[loops.size() - 2], {infer, fragment}).take<2>();
    const auto [column, j] = split(schedule_, loops.back(), {infer, fragment}).take<2>();
    reorder(schedule_, {row, column, i, j});
    for (const LoopRV loop : {row, column}) unroll(schedule_, loop);
    return {i, std::move(intrinsic)};
  }

  /// Thread 4 a + q of a warp has the elements of rows a and a + 8 of a tile, and of two columns of
  /// each eight, which are 2 q and 2 q + 1: these loops, in this order.
  void bind_holders(LoopRV a, LoopRV q, const std::vector<LoopRV>& own) {
    std::vector<LoopRV> order{a, q};
    order.insert(order.end(), own.begin(), own.end());
    reorder(schedule_, order);
    bind(schedule_, fuse(schedule_, {a, q}), "threadIdx.x");
    for (const LoopRV loop : own) unroll(schedule_, loop);
  }

  void share_out_parts(BlockRV block) {
    set_scope(schedule_, block, BufferSelector(0), "shared");
    const Handles<LoopRV> all = get_loops(schedule_, block);
    const LoopRV pair = all.back(), thread = all[all.size() - 2], eight = all[all.size() - 3];
    const LoopRV rows = loops_longer_than_one(schedule_, block, online_.step).at(0);
    const auto [half, row] = split(schedule_, rows, {2, 8}).take<2>();
    bind_holders(row, thread, {half, eight, pair});
  }

  void share_out_tile(BlockRV block) {
    const std::vector<LoopRV> loops = own_loops(block);
    const auto [half, row] = split(schedule_, loops.at(0), {2, 8}).take<2>();
    const auto parts = split(schedule_, loops.at(1), {infer, 4, 2});
    bind_holders(row, parts[1], {half, parts[0], parts[2]});
  }

  /// Tiles of keys and values of the next step are copied while those of this one are used.
  void copy_ahead(std::span<const BlockRV> copies) {
    if (!context_.device.has_async_copies) return;
    List stages, order;
    const Handles<LoopRV> statements = get_child_loops(schedule_, online_.step);
    std::int64_t copied = 0, used = static_cast<std::int64_t>(copies.size());
    for (const LoopRV statement : statements) {
      const bool is_copy = std::ranges::any_of(copies, [&](BlockRV copy) {
        return is_inside(schedule_, schedule_.node(copy), schedule_.node(statement));
      });
      stages.items.emplace_back(int_imm(i32, is_copy ? 0 : 1));
      order.items.emplace_back(int_imm(i32, is_copy ? copied++ : used++));
    }
    List first;
    first.items.emplace_back(int_imm(i32, 0));
    const auto note = [&](const char* key, List numbers) {
      annotate(schedule_, online_.step, key, Annotation(Ref(make(std::move(numbers)))));
    };
    note("software_pipeline_stage", std::move(stages));
    note("software_pipeline_order", std::move(order));
    note("software_pipeline_async_stages", std::move(first));
  }

  Schedule& schedule_;
  AttentionStages stages_;
  const RuleContext& context_;
  OnlineAttention online_{};
  DataType type_ = f16;
  std::int64_t warps_ = 0, keys_ = 0;
};

}  // namespace

bool multiplies_on_tensor_cores(const Schedule& schedule, const AttentionStages& stages,
                                const RuleContext& context) {
  const DataType type = schedule.get(stages.scores.block).reads[0]->buffer->dtype;
  return context.device.has_tensor_cores &&
         (type.bits == 16 || (type == f32 && context.device.allows_tf32));
}

bool attend_on_tensor_cores(Schedule& schedule, const AttentionStages& stages,
                            const RuleContext& context) {
  const auto multiplies = [&](const AttentionStage& stage, std::int64_t operand) {
    const Block& body = schedule.get(stage.block);
    const DataType type = body.reads[static_cast<std::size_t>(operand)]->buffer->dtype;
    return (type == f16 || type == bf16) && body.writes[0]->buffer->dtype == f32;
  };
  return multiplies(stages.scores, 0) && multiplies(stages.scores, 1) &&
         multiplies(stages.mix, number_of_values(schedule, stages)) &&
         TensorCoreAttention(schedule, stages, context).run();
}

}  // namespace loopsmith::gpu
