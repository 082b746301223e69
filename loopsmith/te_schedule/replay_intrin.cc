// SPDX-License-Identifier: Apache-2.0
// Tiles of a stage that a tensor intrinsic computes.
#include <algorithm>

#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/intrin_functions.h"
#include "loopsmith/te_schedule/replay.h"

namespace loopsmith::te {
namespace {

bool is_of_reduction(const IterVar& axis) {
  return axis->iter_type == IterType::comm_reduce;
}

}  // namespace

/// The axis of a stage that is tensorized; null: none is.
const AxisMark* Replay::tensorized(StageId id) const {
  const AxisMark* found = nullptr;
  for (const AxisMark& mark : stage(id).marks) {
    if (!std::holds_alternative<TensorizeMark>(mark.what)) continue;
    require(!found, ErrorKind::schedule, "one_axis_is_tensorized",
            hint("say it of the outermost of them"), {},
            "tensorize: axes {} and {} of stage {} are both to be computed by an intrinsic",
            found ? found->axis->var->name : "", mark.axis->var->name, label_of(data_, id));
    found = &mark;
  }
  return found;
}

/// Stops where a loop that the intrinsic takes the place of is to run on threads, or to prefetch.
void Replay::require_no_loops_inside(StageId id, const AxisMark& tensorized) const {
  const StageData& data = stage(id);
  const auto is_at = [](const IterVar& axis) {
    return [&](const IterVar& leaf) { return leaf.same_as(axis); };
  };
  const auto first = std::ranges::find_if(data.leaf_iter_vars, is_at(tensorized.axis));
  for (const AxisMark& mark : data.marks) {
    const bool binds = std::holds_alternative<BindMark>(mark.what);
    if (!binds && !std::holds_alternative<PrefetchMark>(mark.what)) continue;
    const bool is_inside = std::find_if(first, data.leaf_iter_vars.end(), is_at(mark.axis)) !=
                           data.leaf_iter_vars.end();
    require(!is_inside, ErrorKind::schedule, "tensorized_axis_has_no_loops",
            hint("say it of an axis outside of the tensorized one"), {},
            "{}: axis {} of stage {} is no loop, as an intrinsic computes all of axis {}",
            binds ? "bind" : "prefetch", mark.axis->var->name, label_of(data_, id),
            tensorized.axis->var->name);
  }
}

/// Puts the intrinsic in the place of the loops from its axis inward. The start of a reduction is
/// a nest of its own, before that axis or before the reduction, whichever is further out.
void Replay::tensorize(StageId id, const AxisMark& mark) {
  const auto& intrin = *std::get<TensorizeMark>(mark.what).intrin;
  const auto& leaves = stage(id).leaf_iter_vars;
  const auto at =
      std::ranges::find_if(leaves, [&](const IterVar& leaf) { return leaf.same_as(mark.axis); });
  const auto* compute = stage(id).op.as<ComputeOp>();
  const bool reduces = compute && compute->body[0].is<Reduce>();
  const bool covers_reduction = std::none_of(leaves.begin(), at, is_of_reduction);
  const IntrinFunctions functions = functions_of(intrin, covers_reduction);
  for (const Nest& nest : nests_[id]) {
    const LoopRV loop = leaf_loop(id, nest, mark, "tensorize");
    if (!reduces) {
      require(functions.whole.defined(), ErrorKind::schedule, "intrin_has_body",
              hint("let it return the statement that computes all of it"), {},
              "tensorize: intrinsic {} of stage {} has no body", intrin.name, label_of(data_, id));
      loopsmith::tensorize.apply(
          schedule_, {.block_or_loop = loop, .tensor_intrin = {intrin.name, functions.whole}});
      continue;
    }
    require(functions.update.defined(), ErrorKind::schedule, "intrin_has_update",
            hint("let it return (body, reduce_init, reduce_update)"), {},
            "tensorize: axis {} of stage {} is inside its reduction, and intrinsic {} has no "
            "reduce_update",
            mark.axis->var->name, label_of(data_, id), intrin.name);
    const auto first = std::ranges::find_if(leaves, is_of_reduction);
    const LoopRV start = nest.loops.at(*std::min(first, at));
    const BlockRV init =
        decompose_reduction.apply(schedule_, {.block = nest.blocks[0], .loop = start});
    loopsmith::tensorize.apply(
        schedule_, {.block_or_loop = loop, .tensor_intrin = {intrin.name, functions.update}});
    if (!functions.init) continue;
    // The loops of the tile, without those of the reduction.
    const auto own = get_loops.apply(schedule_, {.block = init});
    const auto spatial = static_cast<std::size_t>(std::count_if(
        at, leaves.end(), [](const IterVar& axis) { return !is_of_reduction(axis); }));
    loopsmith::tensorize.apply(schedule_,
                               {.block_or_loop = own[own.size() - spatial],
                                .tensor_intrin = {intrin.name + "_init", functions.init}});
  }
}

}  // namespace loopsmith::te
