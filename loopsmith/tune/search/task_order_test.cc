// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/task_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/search/expected_gain.h"
#include "loopsmith/tune/search/limits.h"

namespace loopsmith::tune {
namespace {

constexpr int patience = 1000;

TrialTimes times_of(int count, double seconds) {
  TrialTimes times;
  for (int i = 0; i < count; ++i) times.add(seconds);
  return times;
}

TEST(TrialTimes, count_what_brought_nothing) {
  TrialTimes times;
  for (const double seconds : {4.0, std::numeric_limits<double>::infinity(), 3.99, 2.0, 3.0})
    times.add(seconds);
  EXPECT_EQ(times.count(), 5U);
  EXPECT_EQ(times.in_vain(), 1);
  EXPECT_EQ(times.best_before(2), 3.99);
  EXPECT_TRUE(std::isinf(times.best_before(5)));
}

TEST(NextTask, is_the_one_that_gains_most_by_its_weight) {
  const TrialTimes few = times_of(3, 1), many = times_of(20, 1);
  const TaskState early{.times = few, .default_seconds = 1, .result_seconds = 1};
  const TaskState slow{.times = many, .default_seconds = 1, .result_seconds = 1};
  TaskState often = slow, gaining = slow;
  often.weight = 3;
  gaining.result_seconds = 0.5;
  EXPECT_EQ(next_task({slow, early}, patience, 0), 1U);
  EXPECT_EQ(next_task({slow, often}, patience, 0), 1U);
  EXPECT_EQ(next_task({gaining, slow}, patience, 0), 0U);
}

TEST(NextTask, is_none_when_all_have_ended) {
  const TrialTimes times = times_of(20, 1);
  TaskState task{.times = times, .default_seconds = 1, .result_seconds = 1};
  EXPECT_EQ(next_task({task}, 19, 0), std::nullopt);
  task.expected_gain = 0.01;
  EXPECT_EQ(next_task({task}, patience, 0.02), std::nullopt);
  EXPECT_EQ(next_task({task}, patience, 0), 0U);
  task.is_exhausted = true;
  EXPECT_EQ(next_task({task}, patience, 0), std::nullopt);
}

TEST(ExpectedGain, is_that_of_the_best_candidate_left) {
  ExpectedGain gain;
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(std::isinf(gain.share_of(1)));
    gain.predict({{"p", 2.0}});
    gain.measure("p", 1.0);  // It takes half of what was predicted.
  }
  gain.predict({{"quick", 1.0}, {"slow", 20.0}});
  EXPECT_NEAR(gain.share_of(1), 0.5, 0.02);
  gain.predict({{"slow", 20.0}});
  EXPECT_EQ(gain.share_of(1), 0);
}

TEST(ExpectedGain, is_what_draws_from_the_assumed_distribution_save) {
  ExpectedGain gain;
  std::mt19937_64 random(3);
  std::normal_distribution<double> error(0.1, 0.3);
  for (int i = 0; i < 2000; ++i) {
    gain.predict({{"measured", 1.0}});
    gain.measure("measured", std::exp(error(random)));
  }
  std::map<std::string, double> left;
  for (int i = 0; i < 20; ++i) left.emplace(std::to_string(i), 1.2 + 0.05 * i);
  gain.predict(left);
  double sum = 0;
  constexpr int draws = 2000;
  for (int draw = 0; draw < draws; ++draw) {
    double least = 1;
    for (const auto& [program, seconds] : left) {
      least = std::min(least, seconds * std::exp(error(random)));
    }
    sum += least;
  }
  EXPECT_NEAR(gain.share_of(1), 1 - sum / draws, 0.02);
  EXPECT_LT(gain.share_of(0.1), 1e-6);  // What is slow is easily beaten.
  EXPECT_GT(gain.share_of(2), 1e-6);
}

TEST(Limits, without_a_meaning_are_refused) {
  EXPECT_EQ(::loopsmith::testing::refusal([] { require_limits({.trials = 0}); }),
            "limits_are_positive: tune: trials is 0, expected 1 candidate or more");
  EXPECT_EQ(::loopsmith::testing::refusal([] { require_limits({.seconds = NAN}); }),
            "limits_are_positive: tune: seconds is nan, expected a time above 0");
  EXPECT_EQ(::loopsmith::testing::refusal([] { require_limits({.regret = 1}); }),
            "regret_is_a_share: tune: regret is 1, expected a share of the best time, from 0 to "
            "below 1");
}

}  // namespace
}  // namespace loopsmith::tune
