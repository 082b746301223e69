// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/progress.h"

#include <gtest/gtest.h>

namespace loopsmith::tune {
namespace {

TEST(Progress, says_how_far_a_search_is) {
  SearchProgress progress{.done = 30, .trials = 90, .elapsed = 10, .seconds_left = 100};
  progress.functions = {{"main", 2e-6, 4e-6, 1e-6}, {"other"}};
  progress.functions[1].default_seconds = 1e-3;
  progress.failures = {{"compile error", 1}, {"timeout", 2}};
  EXPECT_EQ(progress.text(),
            "30 of 90 trials, 3.0/s; main: best 2 us, default 4 us (50% of the machine's limit); "
            "other: best nothing yet, default 1 ms; 2 timeout; 1 compile error; 20 s left");
  progress.seconds_left = 5;
  EXPECT_TRUE(progress.text().ends_with("; 5 s left"));
  EXPECT_EQ(SearchProgress{.trials = 0}.text(), "0 of 0 trials, 0.0/s; 0 s left");
}

TEST(Progress, is_written_where_there_is_a_new_best) {
  ProgressLines lines;
  SearchProgress progress{.trials = 8, .functions = {{"main", 2, 4}}};
  ::testing::internal::CaptureStderr();
  for (const double best : {2.0, 2.0, 2.0, 1.0, 1.0}) {
    ++progress.done;
    progress.functions[0].best_seconds = best;
    lines.update(progress);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("4 of 8 trials"), std::string::npos) << text;
}

}  // namespace
}  // namespace loopsmith::tune
