// SPDX-License-Identifier: Apache-2.0
// Schedules of tensor expressions as text: the graph, and the decisions about it.
#pragma once
#include <string>
#include <string_view>

#include "loopsmith/te/schedule.h"

namespace loopsmith::te {

/// The text of a schedule and of the operations that it is about, in the format of ir/json.h.
std::string to_json(const Schedule& schedule);

/// The schedule that `to_json` wrote, of operations of its own. A FormatError says what is no such
/// text.
Schedule schedule_from_json(std::string_view text);

}  // namespace loopsmith::te
