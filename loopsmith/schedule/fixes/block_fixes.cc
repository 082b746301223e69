// SPDX-License-Identifier: Apache-2.0
// What may help where blocks, or the places for them, do not fit.
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/fixes/candidate_fixes.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

std::optional<BlockRV> block_of(const RefusedCall& call) {
  const Argument* block = argument_of(call, "block");
  if (!block) block = argument_of(call, "block_or_loop");
  const auto* handle = block ? block->as<BlockRV>() : nullptr;
  return handle ? std::optional(*handle) : std::nullopt;
}

bool moves_backwards(const RefusedCall& call) {
  return call.primitive.name == reverse_compute_at.name ||
         call.primitive.name == reverse_compute_inline.name;
}

/// Loops around the blocks with which one shares buffers: those to which it may go, innermost
/// first.
std::vector<LoopRV> places_for(const RefusedCall& call, BlockRV block) {
  const Schedule& schedule = call.schedule;
  const auto neighbours =
      moves_backwards(call) ? producers_of(schedule, block) : consumers_of(schedule, block);
  std::vector<LoopRV> places;
  for (const BlockRV neighbour : neighbours) {
    auto loops = loops_around(schedule, schedule.node(neighbour));
    std::ranges::reverse(loops);
    for (const LoopRV loop : loops) {
      const bool is_known = std::ranges::find(places, loop) != places.end();
      if (!is_known && !is_inside(schedule, schedule.node(block), schedule.node(loop))) {
        places.push_back(loop);
      }
    }
  }
  return places;
}

}  // namespace

Fixes loops_of_users(const RefusedCall& call) {
  Fixes fixes;
  const auto block = block_of(call);
  if (!block) return fixes;
  for (const LoopRV loop : places_for(call, *block)) {
    fixes.push_back({again_with(call, "loop", loop)});
  }
  return fixes;
}

namespace {

/// By how much windows of what a block reads move, where that is a constant above 1.
std::vector<std::int64_t> strides_of_reads(const Block& block) {
  constexpr std::int64_t most = 64;
  std::vector<std::int64_t> strides;
  for (const auto& region : block.reads) {
    pre_order_visit(region, [&](const Ref& ref) {
      const auto* product = ref.as<Mul>();
      const std::int64_t* stride = product ? as_int(product->b) : nullptr;
      const bool is_new = stride && *stride > 1 && *stride <= most &&
                          std::ranges::find(strides, *stride) == strides.end();
      if (is_new) strides.push_back(*stride);
      return !ref.is<Buffer>();
    });
  }
  return strides;
}

/// Moves a reader of windows into a loop whose iterations move as far as the windows do.
Fixes in_larger_steps(const RefusedCall& call, BlockRV block) {
  Fixes fixes;
  const Argument* loop = argument_of(call, "loop");
  if (!loop || !moves_backwards(call)) return fixes;
  for (const std::int64_t stride : strides_of_reads(call.schedule.get(block))) {
    Step cut = call_of(split, {*loop, Argument::List{Argument(), Argument(stride)}});
    cut.result = Argument::List{LoopRV{0, 0}, LoopRV{0, 1}};
    fixes.push_back({cut, again_with(call, "loop", LoopRV{0, 0})});
  }
  return fixes;
}

}  // namespace

Fixes producers_at_loops(const RefusedCall& call) {
  Fixes fixes = loops_of_users(call);
  const auto block = block_of(call);
  if (!block) return fixes;
  Fixes larger = in_larger_steps(call, *block);
  fixes.insert(fixes.begin(), larger.begin(), larger.end());
  auto loops = loops_around(call.schedule, call.schedule.node(*block));
  std::ranges::reverse(loops);
  for (const BlockRV producer : producers_of(call.schedule, *block)) {
    for (const LoopRV loop : loops) {
      fixes.push_back({call_of(compute_at, {producer, loop})});
    }
  }
  return fixes;
}

Fixes readers_first(const RefusedCall& call) {
  Fixes fixes;
  const auto* reader = call.refusal.subjects[0].as<BlockRV>();
  const Argument* loop = argument_of(call, "loop");
  if (reader && loop) {
    for (const PrimitiveBase* move : {static_cast<const PrimitiveBase*>(&compute_at),
                                      static_cast<const PrimitiveBase*>(&reverse_compute_at)}) {
      fixes.push_back({call_of(*move, {*reader, *loop}), again(call)});
    }
    fixes.push_back({call_of(compute_inline, {*reader}), again(call)});
  }
  for (Fix& other : loops_of_users(call)) fixes.push_back(std::move(other));
  return fixes;
}

Fixes loops_instead_of_inlining(const RefusedCall& call) {
  Fixes fixes;
  const auto block = block_of(call);
  if (!block) return fixes;
  const PrimitiveBase& move = moves_backwards(call)
                                  ? static_cast<const PrimitiveBase&>(reverse_compute_at)
                                  : static_cast<const PrimitiveBase&>(compute_at);
  for (const LoopRV loop : places_for(call, *block)) {
    fixes.push_back({call_of(move, {*block, loop})});
  }
  return fixes;
}

Fixes other_places(const RefusedCall& call) {
  if (call.primitive.name == decompose_reduction.name) return loops_around_block(call);
  return moves_backwards(call) ? producers_at_loops(call) : loops_of_users(call);
}

Fixes into_the_producer(const RefusedCall& call) {
  Fixes fixes;
  const auto block = block_of(call);
  if (!block) return fixes;
  if (call.primitive.name == compute_inline.name) {
    fixes.push_back({call_of(reverse_compute_inline, {*block})});
  }
  // The output goes to the loops of what it reads.
  for (const BlockRV producer : producers_of(call.schedule, *block)) {
    auto loops = loops_around(call.schedule, call.schedule.node(producer));
    std::ranges::reverse(loops);
    for (const LoopRV loop : loops) {
      fixes.push_back({call_of(reverse_compute_at, {*block, loop})});
    }
  }
  return fixes;
}

Fixes loops_around_block(const RefusedCall& call) {
  Fixes fixes;
  const Argument* given = argument_of(call, "loop");
  const auto* loop = given ? given->as<LoopRV>() : nullptr;
  auto block = block_of(call);
  if (!loop) return fixes;
  if (!block) {
    const auto blocks = child_blocks(call.schedule, call.schedule.node(*loop));
    if (!blocks.empty()) block = blocks.back();
  }
  if (!block) {
    fixes.push_back({call_of(normalize_nest, {*loop}), again(call)});
    return fixes;
  }
  Fixes larger = in_larger_steps(call, *block);
  fixes.insert(fixes.begin(), larger.begin(), larger.end());
  auto loops = loops_around(call.schedule, call.schedule.node(*block));
  std::ranges::reverse(loops);
  for (const LoopRV other : loops) {
    if (other.index != loop->index) fixes.push_back({again_with(call, "loop", other)});
  }
  return fixes;
}

Fixes decompose_first(const RefusedCall& call) {
  Fixes fixes;
  const auto block = block_of(call);
  if (!block) return fixes;
  for (const LoopRV loop : loops_around(call.schedule, call.schedule.node(*block))) {
    fixes.push_back({call_of(decompose_reduction, {*block, loop}), again(call)});
  }
  for (Fix& other : loops_instead_of_inlining(call)) fixes.push_back(std::move(other));
  return fixes;
}

Fixes cache_in_place(const RefusedCall& call) {
  const auto block = block_of(call);
  const Argument* scope = argument_of(call, "storage_scope");
  if (!block || !scope) return {};
  Fixes fixes;
  for (const char* parameter : {"read_buffer_index", "write_buffer_index"}) {
    if (const Argument* buffer = argument_of(call, parameter)) {
      fixes.push_back({call_of(cache_inplace, {*block, *buffer, *scope})});
    }
  }
  return fixes;
}

Fixes first_axis(const RefusedCall& call) {
  return {{again_with(call, "factor_axis", std::int64_t{0})}};
}

Fixes buffers_of_block(const RefusedCall& call) {
  Fixes fixes;
  const auto block = block_of(call);
  if (!block) return fixes;
  const Block& subject = call.schedule.get(*block);
  for (const ParameterInfo& parameter : call.primitive.parameters()) {
    if (parameter.type.find("Buffer") == std::string::npos) continue;
    for (const auto* regions : {&subject.writes, &subject.reads}) {
      for (const auto& region : *regions) {
        fixes.push_back({again_with(call, parameter.name, region->buffer->name)});
      }
    }
  }
  return fixes;
}

}  // namespace loopsmith
