// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/decisions.h"

#include <gtest/gtest.h>

#include <random>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using testing::product;

/// What a sample decided, as numbers.
std::vector<std::int64_t> numbers_of(const Argument& decision) {
  if (const auto* number = decision.as<std::int64_t>()) return {*number};
  std::vector<std::int64_t> numbers;
  for (const Argument& each : *decision.as<Argument::List>()) {
    numbers.push_back(*each.as<std::int64_t>());
  }
  return numbers;
}

TEST(Decisions, change_one_at_a_time) {
  Schedule schedule(product(), 3);
  generated_space(schedule);
  const Decisions before = decisions_of(schedule.trace());
  std::mt19937_64 random(1);
  int changes = 0;
  for (int i = 0; i < 40; ++i) {
    const auto after = mutated(schedule.trace(), random);
    if (!after) continue;
    ASSERT_EQ(after->size(), before.size());
    std::size_t different = 0;
    for (std::size_t k = 0; k < before.size(); ++k) {
      different += numbers_of((*after)[k].second) != numbers_of(before[k].second) ? 1 : 0;
    }
    EXPECT_EQ(different, 1U);
    ++changes;
  }
  EXPECT_GT(changes, 20);
  EXPECT_EQ(crossed(schedule.trace(), schedule.trace(), random).size(), before.size());
}

}  // namespace
}  // namespace loopsmith::tune
