// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/nest_steps.h"

#include <algorithm>
#include <bit>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/annotate.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {

bool attempt(Schedule& schedule, const std::function<bool()>& steps) {
  Schedule before = schedule.snapshot();
  try {
    if (steps()) return true;
  } catch (const UserError&) {
  }
  schedule = std::move(before);
  return false;
}

NestLoops loops_of(const Schedule& schedule, BlockRV block) {
  NestLoops loops;
  for (const LoopRV loop : loops_around(schedule, schedule.node(block))) {
    const bool reduces =
        arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
    (reduces ? loops.reduction : loops.spatial).push_back(loop);
  }
  return loops;
}

void look_up_nest(Schedule& schedule, BlockRV block) {
  get_loops(schedule, look_up(schedule, block));
}

NestLoops results_outside(Schedule& schedule, BlockRV block) {
  look_up_nest(schedule, block);
  NestLoops loops = loops_of(schedule, block);
  std::vector<LoopRV> order = loops.spatial;
  order.insert(order.end(), loops.reduction.begin(), loops.reduction.end());
  if (order.size() > 1) reorder(schedule, order);
  return loops;
}

bool is_bound(const Schedule& schedule, BlockRV block) {
  const auto loops = loops_around(schedule, schedule.node(block));
  return std::ranges::any_of(
      loops, [&](LoopRV loop) { return schedule.get(loop).kind == ForKind::thread_binding; });
}

std::optional<std::int64_t> count(const Schedule& schedule, const std::vector<LoopRV>& loops) {
  std::int64_t product = 1;
  for (const LoopRV loop : loops) {
    const std::int64_t* extent = as_int(schedule.get(loop).extent);
    if (!extent || __builtin_mul_overflow(product, *extent, &product)) return {};
  }
  return product;
}

Ptr<Var> axis_of(const Schedule& schedule, BlockRV block, LoopRV loop) {
  const BlockRealize& realize = schedule.realize(block);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.iter_values[i].same_as(schedule.get(loop).loop_var)) {
      return realize.block->iter_vars[i]->var;
    }
  }
  return nullptr;
}

bool uses(const BufferRegion& region, const Ptr<Var>& axis) {
  return std::ranges::any_of(
      region.region, [&](const Ptr<Range>& range) { return uses_variable(range->min, axis); });
}

LoopRV in_line(Schedule& schedule, const std::vector<LoopRV>& loops) {
  return loops.size() == 1 ? loops[0] : fuse(schedule, loops);
}

void bind_all(Schedule& schedule, const std::vector<LoopRV>& loops, const std::string& kind) {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const char axis = static_cast<char>('x' + (loops.size() - 1 - i));
    bind(schedule, loops[i], kind + "." + axis);
  }
}

std::vector<LoopRV> loops_inside(Schedule& schedule, BlockRV block, LoopRV place) {
  std::vector<LoopRV> inside;
  for (const LoopRV loop : get_loops(schedule, block)) {
    const bool is_in = is_inside(schedule, schedule.node(loop), schedule.node(place));
    if (is_in && loop != place) inside.push_back(loop);
  }
  return inside;
}

void share_out(Schedule& schedule, BlockRV copy, LoopRV place,
               const std::vector<SplitFactor>& threads, std::int64_t lanes) {
  std::vector<SplitFactor> factors{infer};
  factors.insert(factors.end(), threads.begin(), threads.end());
  if (lanes > 1) factors.emplace_back(lanes);
  const auto parts =
      split(schedule, in_line(schedule, loops_inside(schedule, copy, place)), factors);
  const auto end = parts.begin() + 1 + static_cast<std::ptrdiff_t>(threads.size());
  bind_all(schedule, {parts.begin() + 1, end}, "threadIdx");
  if (lanes > 1) vectorize(schedule, parts.back());
}

void copy_ahead(Schedule& schedule, LoopRV step, std::int64_t stages) {
  if (stages < 2) return;
  const auto note = [&](const char* key, std::initializer_list<std::int64_t> numbers) {
    List list;
    for (const std::int64_t number : numbers) list.items.emplace_back(int_imm(i32, number));
    annotate(schedule, step, key, Annotation(Ref(make(std::move(list)))));
  };
  note("software_pipeline_stage", {0, 0, stages - 1});
  note("software_pipeline_order", {0, 1, 2});
  note("software_pipeline_async_stages", {0});
}

void inline_makers(Schedule& schedule, BlockRV copy) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const BlockRV maker : producers_of(schedule, copy)) {
      goes_on = goes_on || (!is_bound(schedule, maker) && attempt(schedule, [&] {
                  compute_inline(schedule, look_up(schedule, maker));
                }));
    }
  }
}

std::optional<BlockRV> only_reader(const Schedule& schedule, BlockRV maker) {
  const Handles<BlockRV> readers = consumers_of(schedule, maker);
  const bool is_alone = !is_output_block(schedule, maker) && readers.size() == 1 &&
                        !schedule.get(readers[0]).init && !is_bound(schedule, readers[0]);
  return is_alone ? std::optional(readers[0]) : std::nullopt;
}

void keep_results(Schedule& schedule, BlockRV block, LoopRV thread) {
  BlockRV last{};
  const bool is_kept = attempt(schedule, [&] {
    last = cache_write(schedule, block, BufferSelector(0), "local");
    reverse_compute_at(schedule, last, thread, /*preserve_unit_loops=*/true);
  });
  if (!is_kept) return;
  // Of a result that was padded what belongs to it, its place, and what is made of it.
  while (const auto reader = only_reader(schedule, last)) {
    const bool is_inlined =
        attempt(schedule, [&] { reverse_compute_inline(schedule, look_up(schedule, *reader)); });
    if (!is_inlined) return;
  }
}

bool reads_once(const Schedule& schedule, BlockRV reader, const Ptr<Buffer>& buffer) {
  const Block& block = schedule.get(reader);
  return std::ranges::all_of(block.reads, [&](const Ptr<BufferRegion>& read) {
    if (!read->buffer.same_as(buffer)) return true;
    return std::ranges::all_of(block.iter_vars, [&](const Ptr<IterVar>& axis) {
      return is_const_int(axis->dom->extent, 1) || uses(*read, axis->var);
    });
  });
}

void take_in_reader(Schedule& schedule, BlockRV block, LoopRV place) {
  const auto reader = only_reader(schedule, block);
  if (!reader || !reads_once(schedule, *reader, schedule.get(block).writes[0]->buffer)) return;
  attempt(schedule, [&] {
    const BlockRV last = look_up(schedule, *reader);
    while (const auto next = only_reader(schedule, last)) {
      const bool is_inlined =
          attempt(schedule, [&] { reverse_compute_inline(schedule, look_up(schedule, *next)); });
      if (!is_inlined) break;
    }
    reverse_compute_at(schedule, last, place, /*preserve_unit_loops=*/true);
    set_scope(schedule, block, BufferSelector(0), "shared");
    require_no_obligations(schedule, "take_in_reader");
  });
}

Factor thread_count(Schedule& schedule, const RuleContext& context, std::int64_t own,
                    std::int64_t beside) {
  std::vector<std::int64_t> others;
  for (const std::int64_t other : {own / 4, own / 2, own * 2, own * 4}) {
    if (other > 0 && other * beside <= context.device.threads_per_block) others.push_back(other);
  }
  return context.number(schedule, own, others);
}

std::int64_t power_of_two(std::int64_t value, std::int64_t least, std::int64_t most) {
  const std::int64_t wanted = std::clamp(value, least, most);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
}

}  // namespace loopsmith::gpu
