// SPDX-License-Identifier: Apache-2.0
// Other operations in the place of those of a schedule.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/te/decisions.h"

namespace loopsmith::te {

/// What a tensor becomes; null: it stays.
using TensorChange = std::function<Tensor(const Tensor&)>;

/// The operation that reads other tensors; itself where it reads none of those that change. Its
/// axes are the same nodes.
Ref with_inputs(const Ref& op, const TensorChange& change);

/// Gives a stage another operation, and all stages behind it those that read its results. `read`
/// says for a stage what else it reads instead.
void replace_operation(ScheduleData& schedule, StageId stage, const Ref& op);
void redirect_readers(ScheduleData& schedule, const std::vector<StageId>& readers,
                      const Tensor& from, const Tensor& to);

/// Lets the computes that read a stage's elements compute these instead; it is a compute without a
/// reduction.
void inline_into_readers(ScheduleData& schedule, StageId stage);

/// A stage of a new operation before, or after, another one, in the same group.
StageId insert_stage(ScheduleData& schedule, const Ref& op, StageId beside, bool after);

/// Makes a group of the stages that compute the steps of each scan from its state and inputs.
void group_steps_of_scans(ScheduleData& schedule);

/// Forgets how a stage was scheduled: its loops are the axes of its operation.
void reset_axes(StageData& stage);

/// True when a stage has that name.
bool has_stage_named(const ScheduleData& schedule, std::string_view name);

}  // namespace loopsmith::te
