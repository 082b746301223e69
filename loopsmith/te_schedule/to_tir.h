// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {

/// The arguments of a function for which none were given: the placeholders, then the outputs, then
/// variables that only factors of splits read.
std::vector<Ref> default_arguments(const ScheduleData& schedule);

/// The buffers of arguments, where they have strides, an offset or an alignment of their own.
using Binds = std::vector<std::pair<Tensor, Ptr<Buffer>>>;

/// The function whose parameters are `args`, tensors (as they are now, or as they were before the
/// schedule rewrote them) and scalar variables, with the decisions of the schedule carried out: the
/// trace of the result says what they mean. Throws a UserError where a decision cannot be carried
/// out without changing results, or an argument is missing.
loopsmith::Schedule to_tir(const Schedule& schedule,
                           const std::optional<std::vector<Ref>>& args = {},
                           const Binds& binds = {});

}  // namespace loopsmith::te
