// SPDX-License-Identifier: Apache-2.0
// Tiles of a stage that a tensor intrinsic computes.
#include <algorithm>

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
