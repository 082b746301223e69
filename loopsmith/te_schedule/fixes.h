// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <variant>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/te/attachments.h"
#include "loopsmith/te/create_prim_func.h"

namespace loopsmith::te {

/// The decisions, carried out; or where a stage is read outside of the loop in which it is to be
/// computed.
std::variant<loopsmith::Schedule, ReadOutside> carried_out(const ScheduleData& data,
                                                           const std::vector<Ref>& args,
                                                           GraphBuffers buffers = {});

/// Says what reads the stage, and what to do instead: calls that were tried and are accepted.
[[noreturn]] void refuse_attachment(const Schedule& schedule, const std::vector<Ref>& args,
                                    const ReadOutside& found);

}  // namespace loopsmith::te
