// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/repeated_reductions.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/block_axes.h"
#include "loopsmith/schedule/queries/access_pairs.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/zero_distance.h"

namespace loopsmith {
namespace {

/// True when instances of the block with different values of spatial axes, which are bound to loops
/// from `outermost` inward, may write one element.
bool shares_results(const Schedule& schedule, BlockRV handle, LoopRV outermost) {
  const BlockRealize& realize = schedule.realize(handle);
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (axis.iter_type == IterType::comm_reduce || is_const_int(axis.dom->extent, 1)) continue;
    const auto loops = loops_around(schedule, schedule.node(handle));
    const auto is_driving = [&](LoopRV loop) {
      return uses_variable(realize.iter_values[i], schedule.get(loop).loop_var);
    };
    const auto inner = std::ranges::find(loops, outermost);
    if (std::none_of(inner, loops.end(), is_driving)) continue;
    const bool is_told = each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return !b.is_write || has_zero_distance(accesses, a, b, *axis.var);
    });
    if (!is_told) return true;
  }
  return false;
}

/// True when a block inside of another has an init.
bool starts_reductions(const Schedule& schedule, BlockRV outer) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(outer)), [&](BlockRV inner) {
    return schedule.get(inner).init || starts_reductions(schedule, inner);
  });
}

/// True when several values of a spatial axis may write one element.
bool axes_share_elements(const Schedule& schedule, BlockRV handle) {
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  return std::ranges::any_of(schedule.get(handle).iter_vars, [&](const auto& axis) {
    if (axis->iter_type == IterType::comm_reduce || is_const_int(axis->dom->extent, 1)) {
      return false;
    }
    return !each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return !b.is_write || has_zero_distance(accesses, a, b, *axis->var);
    });
  });
}

/// True when blocks inside of one may start one result for several values of its axes, or theirs.
bool restarts_results(const Schedule& schedule, BlockRV outer) {
  if (!starts_reductions(schedule, outer)) return false;
  if (axes_share_elements(schedule, outer)) return true;
  return std::ranges::any_of(child_blocks(schedule, schedule.node(outer)), [&](BlockRV inner) {
    return restarts_results(schedule, inner) ||
           (schedule.get(inner).init && axes_share_elements(schedule, inner));
  });
}

/// True when an expression may fall where a loop in it goes up.
bool may_fall(const Expr& value) {
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* number = ref.as<IntImm>();
    found = found || ref.is<Sub>() || ref.is<FloorMod>() || ref.is<Mod>() || ref.is<Select>() ||
            ref.is<BufferLoad>() || ref.is<Call>() || (number && number->value < 0);
    return !found;
  });
  return found;
}

/// True when a reduction may start in another instance than the first: it goes through an axis in
/// another direction than its loops.
bool starts_late(const Schedule& schedule, BlockRV block) {
  const BlockRealize& realize = schedule.realize(block);
  const auto goes_down = [&](const Expr& value) {
    return std::ranges::any_of(loops_around(schedule, schedule.node(block)), [&](LoopRV loop) {
      const std::int64_t* step = as_int(schedule.get(loop).step);
      return (!step || *step < 0) && uses_variable(value, schedule.get(loop).loop_var);
    });
  };
  std::optional<IndexForms> forms;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    const bool is_reduction = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
    if (!is_reduction) continue;
    if (goes_down(value)) return true;
    if (value.is<Var>() || !may_fall(value)) continue;
    if (!forms) forms.emplace(ranges_around(schedule, schedule.node(block)));
    const auto form = forms->read(value);
    if (!form || std::ranges::any_of(form->terms,
                                     [](const IndexTerm& term) { return term.coefficient < 0; })) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool starts_late(const Schedule& schedule, LoopRV loop) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(loop)), [&](BlockRV block) {
    return schedule.get(block).init && starts_late(schedule, block);
  });
}

bool repeats_reductions(const Schedule& schedule, std::span<const LoopRV> band) {
  const auto blocks = child_blocks(schedule, schedule.node(band[0]));
  const auto repeats = [&](BlockRV block) {
    return restarts_results(schedule, block) ||
           (starts_reductions(schedule, block) && !is_injective(schedule, block, band));
  };
  if (std::ranges::any_of(blocks, repeats)) return true;
  return std::ranges::any_of(blocks, [&](BlockRV block) {
    if (!schedule.get(block).init) return false;
    const auto loops = loops_around(schedule, schedule.node(block));
    const std::span<const LoopRV> inner(std::ranges::find(loops, band[0]), loops.end());
    return !is_injective(schedule, block, inner) || shares_results(schedule, block, band[0]);
  });
}

bool delays_init(const Schedule& schedule, std::span<const LoopRV> band,
                 std::span<const std::size_t> order) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(band[0])), [&](BlockRV block) {
    if (!schedule.get(block).init) return false;
    if (starts_late(schedule, block)) return true;
    const BlockRealize& realize = schedule.realize(block);
    const auto binds = [&](std::size_t place, std::size_t axis) {
      const For& loop = schedule.get(band[place]);
      return !is_const_int(loop.extent, 1) &&
             uses_variable(realize.iter_values[axis], loop.loop_var);
    };
    std::vector<bool> is_mixed(realize.iter_values.size());
    for (const std::size_t place : order) {
      std::vector<std::size_t> bound[2];
      for (std::size_t axis = 0; axis < is_mixed.size(); ++axis) {
        const bool is_reduction =
            realize.block->iter_vars[axis]->iter_type == IterType::comm_reduce;
        if (binds(place, axis)) bound[is_reduction].push_back(axis);
      }
      if (bound[0].empty() || bound[1].empty()) continue;
      for (const auto& axes : bound) {
        for (const std::size_t axis : axes) is_mixed[axis] = true;
      }
    }
    std::vector<std::size_t> mixing;
    for (const std::size_t place : order) {
      for (std::size_t axis = 0; axis < is_mixed.size(); ++axis) {
        if (is_mixed[axis] && binds(place, axis)) {
          mixing.push_back(place);
          break;
        }
      }
    }
    return !std::ranges::is_sorted(mixing);
  });
}

}  // namespace loopsmith
