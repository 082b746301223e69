// SPDX-License-Identifier: Apache-2.0
// Where the stages of a schedule are computed, after all that was decided.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/te/decisions.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {

/// Where one stage is computed.
struct Attachment {
  AttachType type = AttachType::root;
  StageId stage = no_stage;  ///< In whose loop.
  IterVar axis;              ///< A leaf of that stage.
};

/// The attachment of each stage, by its id. Stages of a group go where the group goes; an axis that
/// was split or fused since is what became of its inner part; stages that read an inlined one are
/// those that read what reads it. Throws a UserError where a stage is attached to itself through
/// others, or to what is no loop.
std::vector<Attachment> attachments_of(const ScheduleData& schedule);

/// The stages that read each stage, through inlined ones, by its id.
std::vector<std::vector<StageId>> readers_of(const ScheduleData& schedule,
                                             const std::vector<Attachment>& attachments);

/// An axis around a place that is bound to a thread axis, and the stage that it is of.
struct BoundAxis {
  StageId stage = no_stage;
  const AxisMark* mark = nullptr;
};
/// Those around a place: of the stage there from outside to inside, then of that around it.
std::vector<BoundAxis> bound_around(const ScheduleData& schedule,
                                    const std::vector<Attachment>& attachments,
                                    const Attachment& place);

/// True where the thread axis of a BindMark runs a loop around a place.
bool is_run_around(const ScheduleData& schedule, const std::vector<Attachment>& attachments,
                   const Attachment& place, const AxisMark& mark);

/// True where each iteration of a loop on that axis has memory of the scope for itself.
bool has_its_own(ThreadAxis axis, MemoryScope scope);

/// Lets a stage be computed inside of the loops of its only reader whose threads do not share the
/// stage's memory, where it was attached outside of them: each computes what it reads.
void attach_inside_threads(const ScheduleData& schedule,
                           const std::vector<std::vector<StageId>>& readers,
                           std::vector<Attachment>& attachments);

/// A stage that is read by others outside of the loop in which it is to be computed.
struct ReadOutside {
  StageId stage = no_stage;
  Attachment at;
  std::vector<StageId> readers;  ///< Those outside.
};
std::optional<ReadOutside> read_outside(const ScheduleData& schedule,
                                        const std::vector<Attachment>& attachments,
                                        const std::vector<std::vector<StageId>>& readers);

/// The memory of a stage's results: what it says, or what the threads around it let.
std::string_view scope_of(const ScheduleData& schedule, const std::vector<Attachment>& attachments,
                          StageId stage);

/// What errors call a stage: its name; where others have that name, the variable to which the line
/// that made it assigns it, or that line's number.
std::string label_of(const ScheduleData& schedule, StageId stage);

}  // namespace loopsmith::te
