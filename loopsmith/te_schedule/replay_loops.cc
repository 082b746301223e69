// SPDX-License-Identifier: Apache-2.0
// Splits, fuses and orders of one stage, on its loops.
#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/replay.h"

namespace loopsmith::te {

LoopRV Replay::own_loop(StageId id, const Nest& nest, const IterVar& axis,
                        std::string_view call) const {
  const auto found = nest.loops.find(axis);
  require(found != nest.loops.end(), ErrorKind::schedule, "axis_has_own_loop",
          hint("schedule its other axes"), {},
          "{}: axis {} of stage {} is the time of a scan, whose loop all its steps share", call,
          axis->var->name, label_of(data_, id));
  return found->second;
}

void Replay::reshape(StageId id, Nest& nest) {
  for (const AxisStep& step : stage(id).steps) {
    std::visit([&](const auto& one) { apply(id, nest, one); }, step);
  }
  name_loops(id, nest);
}

/// True when a thread of the stage's own runs the axis, or a part of it.
bool Replay::is_bound(StageId id, const IterVar& axis) const {
  const StageData& data = stage(id);
  const MemoryScope scope = memory_scope(scope_of(data_, attachments_, id));
  for (const AxisMark& mark : data.marks) {
    const auto* bind = std::get_if<BindMark>(&mark.what);
    if (!mark.axis.same_as(axis) || !bind) continue;
    // Where each of the threads around has the memory for itself, one iteration is left.
    const bool is_own = has_its_own(thread_axis_of(bind->thread->thread_tag), scope);
    if (!is_own || !is_run_around(data_, attachments_, attachments_[id], mark)) return true;
  }
  return std::ranges::any_of(data.steps, [&](const AxisStep& step) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      return split->parent.same_as(axis) &&
             (is_bound(id, split->outer) || is_bound(id, split->inner));
    }
    const auto* fuse = std::get_if<FuseStep>(&step);
    return fuse && (fuse->outer.same_as(axis) || fuse->inner.same_as(axis)) &&
           is_bound(id, fuse->fused);
  });
}

void Replay::apply(StageId id, Nest& nest, const SplitStep& step) {
  const LoopRV loop = own_loop(id, nest, step.parent, "split");
  // What is needed of a stage may be less than the factor; threads are as many as was said.
  const bool by_factor = step.factor.defined();
  const Expr& asked = by_factor ? step.factor : step.nparts;
  const std::int64_t* number = as_int(asked);
  const std::string read =
      number ? "" : read_beside_sizes(*schedule_.as<PrimFunc>(schedule_.root(0)), asked);
  if (!read.empty()) {
    fail(ErrorKind::schedule, "factor_is_of_arguments",
         hint(fmt::format("add {} to the arguments", read)), {},
         "split: {} of axis {} of stage {} is {}, which reads {}, no size of the function",
         by_factor ? "factor" : "nparts", step.parent->var->name, label_of(data_, id),
         to_string(asked), read);
  }
  SplitFactor fixed = number ? SplitFactor(*number) : SplitFactor(asked);
  const std::int64_t* extent = as_int(schedule_.get(loop).extent);
  const bool is_less = number && extent && *extent > 0 && *extent < *number;
  if (is_less && !is_bound(id, step.parent)) fixed = *extent;
  const auto factors =
      by_factor ? std::vector<SplitFactor>{infer, fixed} : std::vector<SplitFactor>{fixed, infer};
  const auto made = loopsmith::split.apply(
      schedule_, {.loop = loop,
                  .factors = factors,
                  .names = std::vector<std::string>{step.outer->var->name, step.inner->var->name},
                  .disable_predication = step.disable_predication});
  nest.loops[step.outer] = made[0];
  nest.loops[step.inner] = made[1];
}

void Replay::apply(StageId id, Nest& nest, const FuseStep& step) {
  const LoopRV outer = own_loop(id, nest, step.outer, "fuse");
  const LoopRV inner = own_loop(id, nest, step.inner, "fuse");
  nest.loops[step.fused] =
      loopsmith::fuse.apply(schedule_, {.loops = {outer, inner}, .name = step.fused->var->name});
}

void Replay::apply(StageId id, Nest& nest, const ReorderStep& step) {
  std::vector<LoopRV> loops;
  for (const IterVar& axis : step.axes) loops.push_back(own_loop(id, nest, axis, "reorder"));
  if (loops.size() > 1) loopsmith::reorder.apply(schedule_, {.loops = loops});
}

void Replay::apply(StageId, Nest& nest, const SingletonStep& step) {
  const auto loops = get_loops.apply(schedule_, {.block = nest.blocks[0]});
  const auto is_own = [&](LoopRV loop) {
    return std::ranges::any_of(nest.loops, [&](const auto& one) { return one.second == loop; });
  };
  const auto first = std::ranges::find_if(loops, is_own);
  const BlockOrLoop subject =
      first == loops.end() ? BlockOrLoop(nest.blocks[0]) : BlockOrLoop(*first);
  nest.loops[step.axis] = add_unit_loop.apply(schedule_, {.block_or_loop = subject});
}

void Replay::apply(StageId id, Nest& nest, const LayoutStep& step) {
  for (const BlockRV block : nest.blocks) {
    transform_layout.apply(schedule_, {.block = block, .buffer = 0, .index_map = step.map});
    separate(block, 0, step);
  }
  require(step.after.empty() || nest.blocks.size() == 1, ErrorKind::schedule,
          "layout_is_of_one_output", hint("call set_layout, which keeps the loops"), {},
          "transform_layout: the outputs of stage {} are computed in the same loops",
          label_of(data_, id));
  if (step.after.empty()) return;
  transform_block_layout.apply(schedule_, {.block = nest.blocks[0], .index_map = step.map});
  const auto loops = get_loops.apply(schedule_, {.block = nest.blocks[0]});
  const std::size_t first = loops.size() - schedule_.get(nest.blocks[0]).iter_vars.size();
  for (std::size_t i = 0; i < step.after.size(); ++i) nest.loops[step.after[i]] = loops[first + i];
}

/// Flattens the buffer to several axes, where the layout says so.
void Replay::separate(BlockRV block, const BufferSelector& buffer, const LayoutStep& step) {
  if (step.separators.empty()) return;
  set_axis_separator.apply(schedule_,
                           {.block = block, .buffer = buffer, .axis_separators = step.separators});
}

/// Loops that the engine made have the names of their axes.
void Replay::name_loops(StageId id, Nest& nest) {
  for (const IterVar& axis : stage(id).leaf_iter_vars) {
    const auto found = nest.loops.find(axis);
    if (found == nest.loops.end() || schedule_.name(found->second) == axis->var->name) continue;
    found->second =
        loopsmith::fuse.apply(schedule_, {.loops = {found->second}, .name = axis->var->name});
  }
}

}  // namespace loopsmith::te
