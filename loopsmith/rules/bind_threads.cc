// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/bind_threads.h"

#include <algorithm>
#include <functional>

#include "loopsmith/arith/hoisted_inits.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

constexpr std::int64_t threads_of_elements = 256;
constexpr std::int64_t threads_of_reduction = 128;
constexpr std::int64_t tile = 16;
/// With more results than this, there is work for all threads without sharing reductions.
constexpr std::int64_t few_results = 8192;
/// Shorter reductions are done sooner by one thread than shared out.
constexpr std::int64_t long_reduction = 64;

class ThreadBinder {
 public:
  ThreadBinder(const Ptr<PrimFunc>& func, const GpuLimits& limits)
      : schedule_(func, /*seed=*/1), limits_(limits) {}

  Ptr<PrimFunc> run() {
    const BlockRV root = get_block(schedule_, "root");
    for (const BlockRV block : get_child_blocks(schedule_, root)) inline_elements(block);
    for (const BlockRV block : get_child_blocks(schedule_, root)) bind_nest(block);
    return schedule_.func();
  }

 private:
  /// Takes steps; false where one of them is refused. Those before it stay taken.
  static bool attempt(const std::function<void()>& steps) {
    try {
      steps();
    } catch (const UserError&) {
      return false;
    }
    return true;
  }

  void inline_elements(BlockRV block) {
    if (schedule_.get(block).init || is_output_block(schedule_, block)) return;
    for (const BlockRV reader : consumers_of(schedule_, block)) {
      if (schedule_.get(reader).init) return;
    }
    attempt([&] { compute_inline(schedule_, block); });
  }

  struct NestLoops {
    std::vector<LoopRV> spatial, reduction;
  };

  NestLoops loops_of(BlockRV block) {
    NestLoops loops;
    for (const LoopRV loop : get_loops(schedule_, block)) {
      const bool reduces =
          arith::is_reduction_loop(schedule_.realize(block), schedule_.get(loop).loop_var);
      (reduces ? loops.reduction : loops.spatial).push_back(loop);
    }
    return loops;
  }

  bool is_bound(BlockRV block) {
    return std::ranges::any_of(get_loops(schedule_, block), [&](LoopRV loop) {
      return schedule_.get(loop).kind == ForKind::thread_binding;
    });
  }

  /// The product of extents; none where one is not constant.
  std::optional<std::int64_t> count(const std::vector<LoopRV>& loops) {
    std::int64_t product = 1;
    for (const LoopRV loop : loops) {
      const std::int64_t* extent = as_int(schedule_.get(loop).extent);
      if (!extent || __builtin_mul_overflow(product, *extent, &product)) return {};
    }
    return product;
  }

  void bind_nest(BlockRV block) {
    if (is_bound(block)) return;
    NestLoops loops = loops_of(block);
    if (!loops.spatial.empty() && !loops.reduction.empty()) {
      std::vector<LoopRV> order = loops.spatial;
      order.insert(order.end(), loops.reduction.begin(), loops.reduction.end());
      attempt([&] { reorder(schedule_, order); });
    }
    if (bind_tiles(block, loops) || is_bound(block)) return;
    const auto results = count(loops.spatial), steps = count(loops.reduction);
    const bool is_long =
        !loops.reduction.empty() && steps.value_or(long_reduction) >= long_reduction;
    const bool is_shared_out =
        is_long && results && *results < few_results && share_out(block, loops);
    if (is_shared_out || is_bound(block)) return;
    if (!bind_line(loops_of(block).spatial)) bind_what_may(block);
  }

  /// A block of threads for each result.
  bool share_out(BlockRV block, const NestLoops& loops) {
    const std::int64_t threads = std::min(threads_of_reduction, limits_.threads_per_block);
    Schedule before = schedule_.copy();
    const bool is_done = attempt([&] {
      const LoopRV results = loops.spatial.empty()
                                 ? add_unit_loop(schedule_, get_loops(schedule_, block)[0])
                                 : in_line(loops.spatial);
      bind(schedule_, results, "blockIdx.x");
      const auto parts = split(schedule_, in_line(loops.reduction), {infer, threads});
      bind(schedule_, parts[1], "threadIdx.x");
    });
    if (!is_done) schedule_ = std::move(before);
    return is_done;
  }

  /// True when two operands lack one of the last two axes each.
  bool is_product(BlockRV block, const NestLoops& loops) {
    const Ptr<Var> rows = axis_of(block, loops.spatial[loops.spatial.size() - 2]);
    const Ptr<Var> columns = axis_of(block, loops.spatial.back());
    if (!rows || !columns) return false;
    int by_row = 0, by_column = 0;
    for (const Ptr<BufferRegion>& read : schedule_.get(block).reads) {
      const bool uses_rows = uses(*read, rows), uses_columns = uses(*read, columns);
      by_row += uses_rows && !uses_columns;
      by_column += uses_columns && !uses_rows;
    }
    return by_row == 1 && by_column == 1;
  }

  /// The axis that a loop is; null where it is none.
  Ptr<Var> axis_of(BlockRV block, LoopRV loop) {
    const BlockRealize& realize = schedule_.realize(block);
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (realize.iter_values[i].same_as(schedule_.get(loop).loop_var)) {
        return realize.block->iter_vars[i]->var;
      }
    }
    return nullptr;
  }

  static bool uses(const BufferRegion& region, const Ptr<Var>& axis) {
    return std::ranges::any_of(
        region.region, [&](const Ptr<Range>& range) { return uses_variable(range->min, axis); });
  }

  bool bind_tiles(BlockRV block, NestLoops loops) {
    if (loops.reduction.empty() || loops.spatial.size() < 2) return false;
    if (tile * tile > limits_.threads_per_block || !is_product(block, loops)) return false;
    Schedule before = schedule_.copy();
    LoopRV step{};
    const bool is_done = attempt([&] {
      const LoopRV columns = loops.spatial.back();
      const LoopRV rows = loops.spatial[loops.spatial.size() - 2];
      loops.spatial.resize(loops.spatial.size() - 2);
      const auto [block_row, row] = split(schedule_, rows, {infer, tile}).take<2>();
      const auto [block_column, column] = split(schedule_, columns, {infer, tile}).take<2>();
      const auto parts = split(schedule_, in_line(loops.reduction), {infer, tile});
      step = parts[0];
      reorder(schedule_, {block_row, block_column, row, column, parts[0], parts[1]});
      if (!loops.spatial.empty()) bind(schedule_, in_line(loops.spatial), "blockIdx.z");
      bind(schedule_, block_row, "blockIdx.y");
      bind(schedule_, block_column, "blockIdx.x");
      bind(schedule_, row, "threadIdx.y");
      bind(schedule_, column, "threadIdx.x");
    });
    if (!is_done) {
      schedule_ = std::move(before);
      return false;
    }
    for (std::int64_t i = 0; i < 2; ++i) share_tile(block, i, step);
    return true;
  }

  /// A copy of the part of an operand that a block of threads reads in one step.
  void share_tile(BlockRV block, std::int64_t operand, LoopRV step) {
    Schedule before = schedule_.copy();
    const bool is_done = attempt([&] {
      const BlockRV copy = cache_read(schedule_, block, BufferSelector(operand), "shared");
      compute_at(schedule_, copy, step);
      const auto all = get_loops(schedule_, copy);
      std::vector<LoopRV> inside;
      for (const LoopRV loop : all) {
        if (schedule_.get(loop).kind == ForKind::serial) inside.push_back(loop);
      }
      inside.erase(inside.begin());  // The step itself.
      const auto parts = split(schedule_, in_line(inside), {infer, tile, tile});
      bind(schedule_, parts[1], "threadIdx.y");
      bind(schedule_, parts[2], "threadIdx.x");
    });
    if (!is_done) schedule_ = std::move(before);
  }

  LoopRV in_line(const std::vector<LoopRV>& loops) {
    return loops.size() == 1 ? loops[0] : fuse(schedule_, loops);
  }

  bool bind_line(const std::vector<LoopRV>& loops) {
    if (loops.empty()) return false;
    const std::int64_t threads = std::min(threads_of_elements, limits_.threads_per_block);
    Schedule before = schedule_.copy();
    const bool is_done = attempt([&] {
      const auto [blocks, inside] = split(schedule_, in_line(loops), {infer, threads}).take<2>();
      bind(schedule_, blocks, "blockIdx.x");
      bind(schedule_, inside, "threadIdx.x");
    });
    if (!is_done) schedule_ = std::move(before);
    return is_done;
  }

  /// The outermost loops that may run at once; one thread where there are none.
  void bind_what_may(BlockRV block) {
    for (const LoopRV loop : get_loops(schedule_, block)) {
      const bool may_run = attempt([&] {
        const LoopArguments parts = bound_parts(loop);
        bind(schedule_, parts.outer, "blockIdx.x");
        bind(schedule_, parts.inner, "threadIdx.x");
      });
      if (may_run || is_bound(block)) return;
    }
    const auto loops = get_loops(schedule_, block);
    const LoopRV once =
        loops.empty() ? add_unit_loop(schedule_, block) : add_unit_loop(schedule_, loops[0]);
    bind(schedule_, once, "threadIdx.x");
  }

  struct LoopArguments {
    LoopRV outer, inner;
  };
  /// A loop in two, if it may be bound at all.
  LoopArguments bound_parts(LoopRV loop) {
    Schedule trial = schedule_.copy();
    bind(trial, loop, "threadIdx.x");
    const std::int64_t threads = std::min(threads_of_elements, limits_.threads_per_block);
    const auto parts = split(schedule_, loop, {infer, threads});
    return {parts[0], parts[1]};
  }

  Schedule schedule_;
  GpuLimits limits_;
};

}  // namespace

Ptr<PrimFunc> bind_threads(const Ptr<PrimFunc>& func, const GpuLimits& limits) {
  const auto* realize = func->body.as<BlockRealize>();
  const bool has_root = realize && realize->block->iter_vars.empty();
  const bool is_scheduled = func->attrs.get_int("tir.is_scheduled", 0) != 0;
  if (!has_root || is_scheduled || has_launch(func->body)) return func;
  return ThreadBinder(func, limits).run();
}

}  // namespace loopsmith
