// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/annotate.h"

#include "loopsmith/schedule/legality/dependence_cache.h"

namespace loopsmith {
namespace {

const Attrs& annotations_of(const Schedule& schedule, const BlockOrLoop& subject) {
  if (const auto* loop = std::get_if<LoopRV>(&subject)) return schedule.get(*loop).annotations;
  return schedule.get(std::get<BlockRV>(subject)).annotations;
}

}  // namespace

Planned<AnnotatePlan> plan_annotate(const Schedule& schedule, const AnnotateArguments& arguments) {
  const Attrs& known = annotations_of(schedule, arguments.block_or_loop);
  return AnnotatePlan{arguments.block_or_loop, arguments.ann_key, arguments.ann_val.value,
                      known.contains(arguments.ann_key)};
}

Planned<AnnotatePlan> plan_unannotate(const Schedule& schedule,
                                      const UnannotateArguments& arguments) {
  if (!annotations_of(schedule, arguments.block_or_loop).contains(arguments.ann_key)) {
    return Refusal{&annotation_exists,
                   {to_argument(arguments.block_or_loop), Argument(arguments.ann_key)}};
  }
  return AnnotatePlan{arguments.block_or_loop, arguments.ann_key, nullptr};
}

Nothing commit_annotate(Schedule& schedule, AnnotatePlan&& plan) {
  if (plan.changes_nothing) return {};
  DependenceUpdate known(schedule, schedule.node(plan.subject));
  if (const auto* handle = std::get_if<LoopRV>(&plan.subject)) {
    For& loop = schedule.edit(*handle);
    loop.annotations = loop.annotations.with(plan.key, plan.value);
  } else {
    Block& block = schedule.edit(std::get<BlockRV>(plan.subject));
    block.annotations = block.annotations.with(plan.key, plan.value);
  }
  known.keep();
  return {};
}

}  // namespace loopsmith
