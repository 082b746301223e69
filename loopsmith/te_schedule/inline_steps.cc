// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/inline_steps.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/support/error.h"
#include "loopsmith/te/dataflow.h"

namespace loopsmith::te {
namespace {

/// The stages that read the state of a scan, directly or not, inside of it.
std::vector<StageId> steps_of_scans(const ScheduleData& schedule) {
  std::unordered_set<Ref, RefHash, RefEqual> made_in_steps;
  for (const StageId id : schedule.order) {
    const auto* scan = schedule.stages[id].op.as<ScanOp>();
    if (!scan) continue;
    for (const auto& state : scan->state_placeholder) made_in_steps.insert(state->op);
  }
  std::vector<StageId> steps;
  for (const StageId id : schedule.order) {
    const Ref& op = schedule.stages[id].op;
    const bool reads_step = std::ranges::any_of(
        input_tensors(op), [&](const Tensor& read) { return made_in_steps.contains(read->op); });
    if (!op.is<ComputeOp>() || !reads_step) continue;
    made_in_steps.insert(op);
    steps.push_back(id);
  }
  return steps;
}

/// Stops where a scan stores what the stage makes.
void require_not_stored(const ScheduleData& schedule, StageId stage) {
  const Ref& op = schedule.stages[stage].op;
  const auto makes = [&](const auto& rows) { return rows->op.same_as(op); };
  for (const StageId id : schedule.order) {
    const auto* scan = schedule.stages[id].op.as<ScanOp>();
    const bool is_stored = scan && (std::ranges::any_of(scan->init, makes) ||
                                    std::ranges::any_of(scan->update, makes));
    require(!is_stored, ErrorKind::schedule, "rows_are_stored",
            hint("say it of what it reads, or compute it at a loop"), {},
            "compute_inline: stage {} makes rows of scan {}, which are stored",
            label_of(schedule, stage), scan ? scan->name : "");
  }
}

}  // namespace

void require_inlinable(const ScheduleData& schedule, StageId stage) {
  const auto* compute = schedule.stages[stage].op.as<ComputeOp>();
  require(compute && !compute->body[0].is<Reduce>(), ErrorKind::schedule, "inlined_is_one_value",
          hint("compute it at a loop of what reads it"), {},
          "compute_inline: stage {} is a reduction, or no compute: its elements cannot be "
          "computed where they are read",
          label_of(schedule, stage));
  require_not_stored(schedule, stage);
}

ScheduleData with_steps_inlined(const ScheduleData& schedule,
                                const std::vector<Attachment>& attachments) {
  ScheduleData changed = schedule;
  for (const StageId id : steps_of_scans(schedule)) {
    if (attachments[id].type != AttachType::inlined) continue;
    require_inlinable(changed, id);
    inline_into_readers(changed, id);
  }
  return changed;
}

}  // namespace loopsmith::te
