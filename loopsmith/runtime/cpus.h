// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace loopsmith {

/// The processors that the calling thread may run on, in ascending order; never empty.
std::vector<int> allowed_cpus();

/// How many processors' time the process may use by its control groups, where they set a limit.
///
/// `cgroup_root` is where the groups are mounted, `membership` the text of /proc/self/cgroup. A
/// limit of a group holds for the groups in it; both versions of control groups are read.
std::optional<double> cgroup_cpu_limit(const std::string& cgroup_root,
                                       const std::string& membership);

/// How many threads keep the process' processors busy: what affinity and control groups allow.
int default_num_threads();

}  // namespace loopsmith
