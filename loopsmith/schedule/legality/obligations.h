// SPDX-License-Identifier: Apache-2.0
// Conditions on the finished program, which steps on the way to it need not meet.
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition thread_memory_stays_inside{
    "thread_memory_stays_inside",
    "of buffer {}, which is {} memory, each iteration of loop {} has its own as a thread, and it "
    "is used outside of the loop, too",
    "move what uses it into the loop (compute_at, reverse_compute_at), or put it into memory that "
    "the threads share (set_scope)"};

/// What the program still has to meet before it can be lowered, as the refusal that it would get: a
/// schedule that binds loops first and moves copies into them later passes through programs in
/// which memory of threads is used outside of them. Until then such memory counts as ordinary
/// memory at the place where it is allocated, and no step relies on it to be of one thread.
std::vector<Refusal> obligations(const Schedule& schedule);

/// Throws a ScheduleError of the first obligation, if there is one, as asked by `operation`.
void require_no_obligations(const Schedule& schedule, std::string_view operation);

}  // namespace loopsmith
