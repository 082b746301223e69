// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/kernel_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace loopsmith {
namespace {

/// A folder that is gone in the end.
class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() {
    std::string pattern = testing::TempDir() + "kernels_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~KernelCacheTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(KernelCacheTest, keeps_code_by_what_it_was_made_of) {
  const KernelCache cache(folder_ + "/new");
  EXPECT_EQ(cache.find("a"), std::nullopt);
  cache.keep("a", std::string("code\0of a", 9));
  cache.keep("b", "");
  EXPECT_EQ(cache.find("a"), std::string("code\0of a", 9));
  EXPECT_EQ(cache.find("b"), "");
  EXPECT_EQ(cache.find("ab"), std::nullopt);
  cache.keep("a", "newer");
  EXPECT_EQ(KernelCache(folder_ + "/new").find("a"), "newer");
}

TEST_F(KernelCacheTest, does_not_take_what_was_made_of_something_else) {
  const KernelCache cache(folder_);
  cache.keep("a", "code");
  const auto file = std::filesystem::directory_iterator(folder_)->path();
  std::ofstream(file) << "1\nbcode";
  EXPECT_EQ(cache.find("a"), std::nullopt);
  std::ofstream(file) << "1";
  EXPECT_EQ(cache.find("a"), std::nullopt);
}

TEST_F(KernelCacheTest, keeps_nothing_without_a_folder) {
  for (const std::string& folder : {std::string(), std::string("/proc/no/folder")}) {
    const KernelCache cache(folder);
    cache.keep("a", "code");
    EXPECT_EQ(cache.find("a"), std::nullopt);
  }
}

}  // namespace
}  // namespace loopsmith
