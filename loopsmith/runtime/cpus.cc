// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace loopsmith {
namespace {

/// The first `size` bytes of a file; empty when it cannot be read. (Streams would cost exported
/// kernels several times as much code.)
std::string read_file(const std::string& path, std::size_t size = 4096) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return {};
  std::string text(size, '\0');
  text.resize(std::fread(text.data(), 1, size, file));
  std::fclose(file);
  return text;
}

/// quota / period of one group; none when it has no limit.
std::optional<double> limit_of_group(const std::string& folder, bool is_version_2) {
  long long quota = 0;
  long long period = 0;
  if (is_version_2) {  // "max 100000" or "150000 100000"
    const std::string text = read_file(folder + "/cpu.max");
    if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2) return {};
  } else {
    quota = std::atoll(read_file(folder + "/cpu.cfs_quota_us").c_str());
    period = std::atoll(read_file(folder + "/cpu.cfs_period_us").c_str());
  }
  if (quota <= 0 || period <= 0) return {};
  return static_cast<double>(quota) / static_cast<double>(period);
}

/// Whether `name` is one of the comma-separated `list`.
bool contains(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int size = 1024; size <= (1 << 20); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < size; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) break;  // else the kernel's set is larger
  }
  if (cpus.empty()) {
    const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<double> cgroup_cpu_limit(const std::string& cgroup_root,
                                       const std::string& membership) {
  std::optional<double> limit;
  std::size_t start = 0;
  while (start <
         membership.size()) {  // lines "id:controllers:path"; version 2 names no controllers
    std::size_t end = membership.find('\n', start);
    if (end == std::string::npos) end = membership.size();
    const std::string line = membership.substr(start, end - start);
    start = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !contains(controllers, "cpu")) continue;

    const std::string root = is_version_2 ? cgroup_root : cgroup_root + "/cpu";
    std::string group = line.substr(second + 1);
    while (true) {  // from the process' own group up to the root
      if (const auto own = limit_of_group(root + group, is_version_2)) {
        limit = limit ? std::min(*limit, *own) : *own;
      }
      const std::size_t slash = group.rfind('/');
      if (slash == std::string::npos || group.empty()) break;
      group.resize(slash);
    }
  }
  return limit;
}

int default_num_threads() {
  int count = static_cast<int>(allowed_cpus().size());
  const auto limit = cgroup_cpu_limit("/sys/fs/cgroup", read_file("/proc/self/cgroup"));
  if (limit) count = std::min(count, static_cast<int>(std::ceil(*limit)));
  return std::max(count, 1);
}

}  // namespace loopsmith
