// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

namespace loopsmith::tune {

/// Does some tasks in so many threads, each with a limit of time; which of them ended in time.
///
/// A task that takes longer is left behind: another thread takes up those after it, and nothing
/// waits for its end but that of the process. So a task owns what it uses. Throws what one of those
/// in time threw.
std::vector<bool> ended_in_time(std::vector<std::function<void()>> tasks, int threads,
                                double seconds);

}  // namespace loopsmith::tune
