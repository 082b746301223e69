// SPDX-License-Identifier: Apache-2.0
// Products: each of two operands lacks an axis of the result, so that tiles of them are read again
// and again. A block of threads makes a tile of the result; what it needs of the operands, one step
// of the reduction at a time, goes through shared memory; each thread keeps several results in
// registers.
#include <algorithm>

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

/// Tiles of 64 x 64, of which each of 16 x 16 threads has 4 x 4 results; less where there are
/// fewer.
Tiling tiling_for(const Schedule& schedule, const ProductLoops& product, std::int64_t max_threads) {
  constexpr std::int64_t least = 8, most = 64, steps = 16;
  std::int64_t threads = 16;
  while (threads * threads > max_threads) threads /= 2;
  Tiling tiling;
  const std::vector<LoopRV>* sides[] = {&product.rows, &product.columns};
  for (int side = 0; side < 2; ++side) {
    const std::int64_t tile =
        power_of_two(count(schedule, *sides[side]).value_or(most), least, most);
    tiling.threads[side] = std::min(threads, tile);
    tiling.results[side] = tile / tiling.threads[side];
  }
  tiling.step = power_of_two(count(schedule, product.reduction).value_or(steps), 4, steps);
  return tiling;
}

class ProductTiler {
 public:
  ProductTiler(Schedule& schedule, BlockRV block, const RuleContext& context)
      : schedule_(schedule), block_(block), context_(context) {}

  void run() {
    look_up_nest(schedule_, block_);
    bring_into_matrix_form(schedule_, block_);
    look_up_nest(schedule_, block_);
    ProductLoops product = *product_loops(schedule_, block_);
    tiling_ = tiling_for(schedule_, product, context_.device.threads_per_block);
    reorder(schedule_, product.in_order());
    if (const auto padding = padding_of(schedule_, block_, product, tiling_.tile(0),
                                        tiling_.tile(1), tiling_.step)) {
      attempt(schedule_, [&] { pad_einsum(schedule_, block_, *padding); });
    }
    look_up_nest(schedule_, block_);
    product = *product_loops(schedule_, block_);
    const auto [block_row, row, i] = cut(in_line(schedule_, product.rows), 0);
    const auto [block_column, column, j] = cut(in_line(schedule_, product.columns), 1);
    const Factor depth =
        context_.number(schedule_, tiling_.step, {tiling_.step / 2, tiling_.step * 2});
    const auto [step, k] =
        split(schedule_, in_line(schedule_, product.reduction), {infer, depth}).take<2>();
    reorder(schedule_, {block_row, block_column, row, column, step, k, i, j});
    if (!product.batch.empty()) bind(schedule_, in_line(schedule_, product.batch), "blockIdx.z");
    bind_all(schedule_, {block_row, block_column}, "blockIdx");
    bind_all(schedule_, {row, column}, "threadIdx");
    keep_results(schedule_, block_, column);
    share_tile(product.row_operand, step, /*is_of_columns=*/false);
    share_tile(product.column_operand, step, /*is_of_columns=*/true);
    attempt(schedule_, [&] { decompose_reduction(schedule_, block_, step); });
    for (const LoopRV loop : {i, j}) {
      attempt(schedule_, [&] { unroll(schedule_, loop); });
    }
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

  /// The part of an operand that a block of threads reads in one step.
  void share_tile(std::int64_t operand, LoopRV step, bool is_of_columns) {
    attempt(schedule_, [&] {
      const BlockRV copy = cache_read(schedule_, block_, BufferSelector(operand), "shared");
      compute_at(schedule_, copy, step, /*preserve_unit_loops=*/true);
      share_out(schedule_, copy, step, {tiling_.threads[0], tiling_.threads[1]});
      inline_makers(schedule_, copy);
      // Neighbouring threads that read rows of steps would all read from the same few banks.
      const auto& tile = schedule_.get(copy).writes[0]->buffer->shape;
      const bool lies_across = is_of_columns && reads_steps_last(schedule_, block_, operand);
      if (lies_across && tile.size() >= 2) {
        storage_align(schedule_, copy, BufferSelector(0),
                      static_cast<std::int64_t>(tile.size()) - 2, tiling_.step, 1);
      }
      require_no_obligations(schedule_, "tile_product");
    });
  }

  Schedule& schedule_;
  BlockRV block_;
  const RuleContext& context_;
  Tiling tiling_{};
};

}  // namespace

bool tile_product(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const auto product = product_loops(schedule, block);
  const auto points = product ? count(schedule, product->reduction) : std::nullopt;
  if (!product || points == 0) return false;
  return attempt(schedule, [&] { ProductTiler(schedule, block, context).run(); });
}

}  // namespace loopsmith::gpu
