// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/target.h"

#include <gtest/gtest.h>

#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string error_of(std::string_view text) {
  try {
    const Target target(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(target, text_reads_back_as_the_same_target) {
  const Target target("llvm  -mcpu=native --num-cores=4 -mattr=+avx512f,-fma -opt-level=2");
  EXPECT_EQ(target.text(), "llvm -mattr=+avx512f,-fma -mcpu=native -num-cores=4 -opt-level=2");
  EXPECT_EQ(Target(target.text()), target);
  EXPECT_EQ(Target("llvm", target.options()), target);
  EXPECT_NE(target, Target("llvm"));
}

TEST(target, options_have_values_or_a_default) {
  const Target target("cuda -arch=sm_90a -max_threads_per_block=1024");
  EXPECT_EQ(target.kind(), TargetKind::cuda);
  EXPECT_TRUE(target.is_gpu());
  EXPECT_EQ(target.get("arch"), "sm_90a");
  EXPECT_EQ(target.get_int("max_threads_per_block", 0), 1024);
  EXPECT_EQ(target.get_int("thread_warp_size", 32), 32);
  EXPECT_EQ(Target("llvm").get("mcpu", "x86-64"), "x86-64");
}

TEST(target, what_is_not_known_is_refused) {
  EXPECT_EQ(error_of("cpu"),
            "target: 'cpu' is not a kind of target\n"
            "  hint: start with llvm, c, cuda or opencl, as in 'llvm -mcpu=native'");
  EXPECT_EQ(error_of("llvm mcpu=native"),
            "target: option 'mcpu=native' does not start with a dash\n  hint: write -name=value");
  EXPECT_EQ(error_of("c -mcpu=native"),
            "target: c has no option 'mcpu'\n  hint: its options are num-cores");
  EXPECT_EQ(error_of("llvm -opt-level=high"),
            "target: option opt-level is 'high', not a number\n"
            "  hint: give a number, 0 or more");
}

}  // namespace
}  // namespace loopsmith
