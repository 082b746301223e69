// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/expected.h"

#include <gtest/gtest.h>

#include <string>

namespace loopsmith {
namespace {

Expected<std::string> name_of(int number) {
  if (number != 1) return UserError(ErrorKind::user, "is_one", "the number is not 1", "pass 1");
  return std::string("one");
}

TEST(expected, holds_a_value) {
  ASSERT_TRUE(name_of(1));
  EXPECT_EQ(*name_of(1), "one");
  EXPECT_EQ(name_of(1)->size(), 3U);
  EXPECT_EQ(name_of(1).value(), "one");
}

TEST(expected, holds_why_there_is_no_value_and_throws_it_on_demand) {
  const auto two = name_of(2);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().problem(), "the number is not 1");
  EXPECT_THROW(two.value(), UserError);
}

}  // namespace
}  // namespace loopsmith
