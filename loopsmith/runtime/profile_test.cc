// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/profile.h"

#include <gtest/gtest.h>

namespace loopsmith {
namespace {

TEST(Profile, knows_the_rate_of_the_clock) {
  EXPECT_GT(ticks_per_second(), 1e6);
  EXPECT_LT(ticks_per_second(), 1e11);
  EXPECT_EQ(ticks_per_second(), ticks_per_second());
}

}  // namespace
}  // namespace loopsmith
