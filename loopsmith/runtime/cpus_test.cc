// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace loopsmith {
namespace {

/// A folder that looks like mounted control groups, removed at the end.
struct FakeGroups {
  std::filesystem::path root = std::filesystem::temp_directory_path() /
                               ("loopsmith_cpus_test_" + std::to_string(::getpid()));

  ~FakeGroups() { std::filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

TEST(cpus, a_group_without_a_limit_has_none) {
  const FakeGroups groups;
  groups.write("user/cpu.max", "max 100000\n");
  EXPECT_FALSE(cgroup_cpu_limit(groups.root, "0::/user\n").has_value());
  EXPECT_FALSE(cgroup_cpu_limit(groups.root, "").has_value());
  EXPECT_FALSE(cgroup_cpu_limit(groups.root, "no colons\n").has_value());
}

TEST(cpus, the_tightest_limit_on_the_way_to_the_root_holds) {
  const FakeGroups groups;
  groups.write("outer/cpu.max", "150000 100000\n");
  groups.write("outer/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(groups.root, "0::/outer/inner\n"), 1.5);
}

TEST(cpus, groups_of_version_1_are_read) {
  const FakeGroups groups;
  groups.write("cpu/box/cpu.cfs_quota_us", "300000\n");
  groups.write("cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(groups.root, "4:cpu,cpuacct:/box\n3:cpuset:/other\n"), 3.0);
  groups.write("cpu/box/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(cgroup_cpu_limit(groups.root, "4:cpu,cpuacct:/box\n").has_value());
}

TEST(cpus, the_default_respects_the_affinity_mask) {
  EXPECT_GE(default_num_threads(), 1);
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(allowed_cpus().back(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_cpus().size(), 1U);
    EXPECT_EQ(default_num_threads(), 1);
  }).join();
}

}  // namespace
}  // namespace loopsmith
