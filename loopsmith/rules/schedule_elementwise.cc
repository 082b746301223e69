// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_elementwise.h"

#include <algorithm>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// A task of a one-dimensional loop, and of one that is so long that there are many of the larger
/// ones.
constexpr std::int64_t elements_a_task = 1 << 14;
constexpr std::int64_t elements_a_long_task = 1 << 16;
constexpr std::int64_t many_elements = 1 << 22;

bool is_compact(const Buffer& buffer) {
  return buffer.strides.empty() && buffer.axis_separators.empty() &&
         (!buffer.elem_offset.defined() || is_const_int(buffer.elem_offset, 0));
}

/// True when the access moves by one element from each iteration of the loops, fused, to the next:
/// its last indices are the variables of the loops, which go through all of its last dimensions but
/// the first of these.
bool walks(const NestAccess& access, std::span<const NestLoop> loops) {
  const std::size_t rank = access.indices.size();
  if (rank < loops.size() || !is_compact(*access.buffer)) return false;
  const std::size_t first = rank - loops.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const Expr& index = access.indices[d];
    if (d > first) {
      const Axis& axis = loops[d - first].axis;
      if (!index.same_as(axis.var) || !structural_equal(access.buffer->shape[d], axis.extent) ||
          !is_const_int(axis.min, 0))
        return false;
      continue;
    }
    for (const NestLoop& each : loops) {
      const bool is_first = d == first && each.axis.var.same_as(loops[0].axis.var);
      if (!is_first && uses_variable(index, each.axis.var)) return false;
    }
    if (d < first) continue;
    const Ptr<Var>& along = loops[0].axis.var;
    const Expr ahead = substitute(index, {{along, zero_of(along->dtype)}});
    if (!Analyzer().can_prove_equal(index, along + ahead)) return false;
  }
  return true;
}

/// True when a value or a condition is computed from an axis itself, not from what it indexes.
bool computes_with(const Ref& root, std::span<const NestLoop> loops) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto is_axis = [&](const NestLoop& each) { return ref.same_as(each.axis.var); };
    found = found || std::ranges::any_of(loops, is_axis) ||
            (store && computes_with(store->value, loops));
    return !found && !store && !ref.is<BufferLoad>();
  });
  return found;
}

/// The first of the loops, outermost first, from which on all of them may be fused into one through
/// which each access walks, or does not move; their number where there are no two such.
std::size_t first_of_walk(const Nest& nest, const std::vector<NestLoop>& loops) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  for (std::size_t first = 0; first + 1 < loops.size(); ++first) {
    const std::span walked = std::span(loops).subspan(first);
    const auto fits = [&](const NestAccess& access) {
      const bool is_fixed = !access.is_store && std::ranges::none_of(walked, [&](const auto& each) {
        return std::ranges::any_of(access.indices, [&](const Expr& index) {
          return uses_variable(index, each.axis.var);
        });
      });
      return is_fixed || walks(access, walked);
    };
    const bool are_axes = std::ranges::all_of(
        walked, [](const NestLoop& each) { return each.axis.var.get() != nullptr; });
    if (are_axes && std::ranges::all_of(accesses, fits) && !computes_with(nest.body, walked)) {
      return first;
    }
  }
  return loops.size();
}

/// Not yet taken by steps: vectors that start at lines of the cache, tiles, peeled borders.
bool is_for_make_loops(const Nest& nest, std::int64_t lanes) {
  const auto across = [&](const Axis& axis) {
    return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
      return stride_along(access, axis.var) == Stride::other;
    });
  };
  const std::optional<Axis> along = contiguous_axis(nest);
  return !nest.streamed.empty() || (along && across(*along)) ||
         peel_boundaries(nest, nest.spatial(), lanes);
}

/// How many elements of a long loop are a task. The last task has a whole vector to do, or there is
/// none.
std::int64_t task_of(std::optional<std::int64_t> extent, std::int64_t lanes) {
  std::int64_t size = extent && *extent >= many_elements ? elements_a_long_task : elements_a_task;
  while (extent && *extent > size && *extent % size != 0 && *extent % size < lanes) size += lanes;
  return size;
}

/// One loop over all points, cut into tasks.
void schedule_long_loop(Schedule& schedule, const NestLoop& all, std::int64_t lanes,
                        bool has_threads, const RuleContext& context) {
  const auto extent = constant_extent(all.axis);
  LoopRV loop = all.loop;
  std::optional<std::int64_t> inner = extent;
  const std::int64_t size = task_of(extent, lanes);
  if (has_threads && !(extent && *extent <= size)) {
    const Factor task = context.number(schedule, size, {size / 4, size * 4});
    const auto [tasks, part] = split(schedule, loop, {infer, task}).take<2>();
    parallel(schedule, tasks);
    loop = part;
    inner = size;
  }
  vectorize_by(schedule, loop, inner, lanes, context);
}

}  // namespace

bool schedule_elementwise(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1 || !subject.nests[0].reduction().empty()) return false;
  const Nest& nest = subject.nests[0];
  const std::int64_t lanes = lanes_of(nest, context.machine);
  if (is_for_make_loops(nest, lanes)) return false;
  auto found = look_up_loops(schedule, nest);
  if (!found || found->empty()) return false;
  std::vector<NestLoop>& loops = *found;

  const std::optional<Axis> along = contiguous_axis(nest);
  if (along) {
    const auto inner = std::ranges::find_if(
        loops, [&](const NestLoop& each) { return each.axis.var.same_as(along->var); });
    if (inner + 1 != loops.end()) {
      std::rotate(inner, inner + 1, loops.end());
      std::vector<LoopRV> order;
      for (const NestLoop& each : loops) order.push_back(each.loop);
      reorder(schedule, order);
    }
    const std::size_t first = first_of_walk(nest, loops);
    const auto cells = constant_extent(loops.back().axis);
    if (first == 0 || (first < loops.size() && !(cells && *cells >= 2 * lanes))) {
      const std::vector<NestLoop> walked(loops.begin() + static_cast<std::ptrdiff_t>(first),
                                         loops.end());
      loops.resize(first + 1);
      loops[first] = {fuse_all(schedule, walked), {}};
      const For& fused = schedule.get(loops[first].loop);
      loops[first].axis = {fused.loop_var, fused.min, fused.extent};
    }
  }
  const bool has_threads = is_worth_threads(subject.nests);
  if (loops.size() == 1 && along) {
    schedule_long_loop(schedule, loops[0], lanes, has_threads, context);
    return true;
  }
  const NestLoop inner = loops.back();
  if (along) loops.pop_back();
  if (has_threads) parallelize(schedule, loops, context);
  if (along) vectorize_by(schedule, inner.loop, constant_extent(inner.axis), lanes, context);
  return true;
}

}  // namespace loopsmith
