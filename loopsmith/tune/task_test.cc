// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/task.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/support/error.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/search/strategies.h"
#include "loopsmith/tune/spaces/own_space.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;
using testing::product;

Outcome took(double seconds, double other = 1) {
  return {.samples = {seconds}, .others = {other}};
}

/// Takes the length of a trace for its time, and says that the default schedule takes a second.
Measurer by_length() {
  const auto measure = [](const std::vector<Candidate>& some, std::size_t, double) {
    std::vector<Outcome> outcomes;
    for (const Candidate& each : some) {
      outcomes.push_back(took(static_cast<double>(each.trace.steps().size()) * 1e-3));
    }
    return outcomes;
  };
  return {.measure = measure,
          .measure_reference = [](std::size_t) { return took(1); },
          .duel = [=](const Candidate& each, std::size_t) { return measure({each}, 0, 0).front(); },
          .check = [](const Candidate&, std::size_t) { return Outcome(); }};
}

Task task_of(Measurer measurer, KeepTrials keep = {},
             std::function<void(const Tried&)> on_trial = {}) {
  const Space space = own_space(product(), Target("llvm"), {}, Numerics::free);
  TaskParts parts{.measurer = std::move(measurer),
                  .searches = {},
                  .keep = std::move(keep),
                  .on_trial = std::move(on_trial)};
  parts.searches.resize(1);
  parts.searches.front().search = std::make_shared<Search>(product(), space, 1, SearchParts{});
  parts.searches.front().next = at_random;
  return {product(), std::move(parts)};
}

TEST(Task, makes_batches_ready_and_measures_some_at_once) {
  std::vector<std::size_t> ready, measured;
  std::vector<Tried> tried;
  Measurer measurer = by_length();
  measurer.batch = 6;
  measurer.parallelism = 4;
  measurer.prepare = [&](const std::vector<Candidate>& some) { ready.push_back(some.size()); };
  measurer.measure = [&, measure = measurer.measure](const std::vector<Candidate>& some,
                                                     std::size_t point, double best) {
    measured.push_back(some.size());
    return measure(some, point, best);
  };
  Task task = task_of(measurer, {}, [&](const Tried& each) { tried.push_back(each); });
  // The first batch is the default schedule alone, with which the space starts.
  EXPECT_EQ(task.step(10), 4U);
  EXPECT_EQ(task.step(10), 6U);
  EXPECT_EQ(task.step(3), 3U);
  EXPECT_EQ(ready, (std::vector<std::size_t>{4, 6, 3}));
  EXPECT_EQ(measured, (std::vector<std::size_t>{4, 4, 2, 3}));
  ASSERT_EQ(tried.size(), 13U);
  EXPECT_LE(tried.front().elapsed, tried.back().elapsed);
  EXPECT_EQ(task.best_seconds(), std::ranges::min(tried, {}, &Tried::seconds).seconds);
  EXPECT_EQ(task.best().seconds, task.best_seconds());
}

TEST(Task, has_one_candidate_however_little_time_there_is) {
  Measurer measurer = by_length();
  measurer.batch = 8;
  Task task = task_of(measurer);
  const HasTime never = [] { return false; };
  EXPECT_EQ(task.step(8, never), 1U);
  EXPECT_EQ(task.step(8, never), 0U);
}

TEST(Task, measures_the_start_beside_the_default_schedule_where_nothing_is_as_quick) {
  Measurer measurer = by_length();
  std::string start;
  measurer.measure = [&](const std::vector<Candidate>& some, std::size_t, double) {
    if (start.empty()) start = some.front().program;
    return std::vector<Outcome>(some.size(), took(some.front().program == start ? 1.5 : 0.5));
  };
  // In turns, only the start is as quick as the default schedule, which it is.
  measurer.duel = [&](const Candidate& each, std::size_t) {
    return took(each.program == start ? 1 : 2);
  };
  Task task = task_of(measurer);
  while (task.times().count() < 6) task.step(1);
  const Found found = task.best();
  EXPECT_EQ(found.candidate.program, start);
  EXPECT_EQ(found.seconds, 1);
  EXPECT_EQ(found.default_seconds, 1);
  // As it is, nothing is measured again.
  const Found quickest = task.best(0);
  EXPECT_NE(quickest.candidate.program, start);
  EXPECT_EQ(quickest.seconds, 0.5);
}

TEST(Task, takes_the_first_whose_results_are_right) {
  Measurer measurer = by_length();
  std::vector<std::string> checked;
  measurer.check = [&](const Candidate& each, std::size_t) -> Outcome {
    checked.push_back(each.program);
    if (checked.size() == 1) return {.failure = wrong_result, .detail = "argument 2"};
    return {.failure = timeout};
  };
  Task task = task_of(measurer);
  while (task.times().count() < 6) task.step(1);
  const Found found = task.best();
  ASSERT_EQ(checked.size(), 2U);
  EXPECT_EQ(found.candidate.program, checked[1]);
  EXPECT_FALSE(found.is_checked);  // The program without a schedule took too long.
  measurer.check = [](const Candidate&, std::size_t) -> Outcome {
    return {.failure = wrong_result, .detail = "argument 2"};
  };
  Task wrong = task_of(measurer);
  wrong.step(1);
  EXPECT_EQ(refusal([&] { wrong.best(); }),
            "default_schedule_is_right: tune: main: the program without a schedule gives other "
            "results than the default schedule and the candidates: argument 2");
}

TEST(Task, says_why_no_candidate_worked) {
  Task idle = task_of(by_length());
  EXPECT_EQ(refusal([&] { idle.best(); }),
            "a_candidate_works: tune: main: none of 0 candidates could be built and measured; "
            "there was no time for one");
  Measurer measurer = by_length();
  measurer.measure = [](const std::vector<Candidate>&, std::size_t, double) {
    return std::vector<Outcome>{{.failure = compile_timeout, .detail = "not within 1 s"}};
  };
  Task task = task_of(measurer);
  EXPECT_EQ(task.step(1), 1U);
  EXPECT_EQ(refusal([&] { task.best(); }),
            "a_candidate_works: tune: main: none of 1 candidates could be built and measured; "
            "compile timeout: not within 1 s");
}

TEST(Task, needs_an_outcome_for_each_candidate) {
  Measurer measurer = by_length();
  measurer.measure = [](const std::vector<Candidate>&, std::size_t, double) {
    return std::vector<Outcome>();
  };
  Task task = task_of(measurer);
  EXPECT_EQ(refusal([&] { task.step(1); }),
            "runner_answers_all: tune: main: the runner got 1 candidates and returned 0 outcomes");
}

TEST(Task, goes_on_where_trials_cannot_be_kept) {
  int asked = 0;
  Task task = task_of(by_length(), [&](const std::vector<LoggedTrial>&) {
    ++asked;
    fail(ErrorKind::format, "records_can_be_used", hint(""), {}, "full");
  });
  EXPECT_EQ(task.keep_failure(), "");
  while (task.times().count() < 3) task.step(1);
  EXPECT_EQ(asked, 1);
  EXPECT_NE(task.keep_failure().find("full"), std::string::npos);
}

}  // namespace
}  // namespace loopsmith::tune
