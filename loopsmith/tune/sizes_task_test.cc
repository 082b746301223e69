// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes_task.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/measure/candidate_runner.h"
#include "loopsmith/tune/search/strategies.h"
#include "loopsmith/tune/testing/product.h"
#include "loopsmith/tune/testing/temporary_file.h"
#include "loopsmith/tune/tuner.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;
using testing::doubled_rows;
using testing::TemporaryFile;

const std::map<std::string, SizeSpec> few_and_many = {{"m", SizeWeights{{1, 1.0}, {1000, 1.0}}}};

/// Options whose space has columns by 16, which are quick for one row, by 32, which are quick for
/// 1000, by 8 and by 4; and whose runner notes which programs it measured.
SearchOptions noting(std::vector<std::string>& measured) {
  SearchOptions options{.trials = 20, .seed = 1};
  options.space_name = "columns";
  options.space = [](tir::Schedule& sch) {
    const auto factor = sch.sample_categorical({4, 8, 16, 32}, {0.25, 0.25, 0.25, 0.25});
    sch.split(sch.get_loops("B")[1], {infer, factor});
  };
  options.runner = [&](const Ptr<PrimFunc>& func) -> std::vector<double> {
    measured.push_back(script(func));
    const bool is_large = measured.back().find("T.grid(1000, ") != std::string::npos;
    const char* quick = is_large ? ", 2, 32)" : ", 4, 16)";
    return {measured.back().find(quick) != std::string::npos ? 1.0 : 2.0};
  };
  return options;
}

TEST(SizesTask, goes_on_where_it_was_interrupted) {
  const TemporaryFile file;
  std::vector<std::string> first, second, whole;
  SearchOptions options = noting(first);
  options.records = file.path();
  // The two references, a candidate with both sizes, and one with the first of them.
  options.runner = [&, measure = options.runner](const Ptr<PrimFunc>& func) {
    if (first.size() == 5) throw std::runtime_error("interrupted");
    return measure(func);
  };
  EXPECT_THROW(search_sizes(doubled_rows(), few_and_many, options), std::runtime_error);
  SearchOptions more = noting(second);
  more.records = file.path();
  const BestSizes best = search_sizes(doubled_rows(), few_and_many, more);
  EXPECT_EQ(best.trials.size(), 3U);
  // The one that was measured with both is not measured again, but in duels, of those chosen.
  const std::vector<std::string> trials(second.begin() + 2, second.begin() + 2 + 3 * 2);
  for (const std::string& each : trials) {
    EXPECT_NE(each, first[2]);
    EXPECT_NE(each, first[3]);
  }
  const BestSizes wanted = search_sizes(doubled_rows(), few_and_many, noting(whole));
  EXPECT_EQ(wanted.trials.size(), 4U);
  EXPECT_EQ(best.schedules.size(), 2U);
  EXPECT_EQ(best.speedup(), wanted.speedup());
  // Nothing is left: what was measured before is the result.
  const BestSizes last = search_sizes(doubled_rows(), few_and_many, more);
  EXPECT_TRUE(last.trials.empty());
  EXPECT_EQ(last.speedup(), wanted.speedup());
}

TEST(SizesTask, does_not_try_again_what_failed_with_a_size) {
  const TemporaryFile file;
  std::vector<std::string> measured;
  SearchOptions options = noting(measured);
  options.records = file.path();
  options.runner = [measure = options.runner](const Ptr<PrimFunc>& func) -> std::vector<double> {
    const std::string text = script(func);
    if (text.find("T.grid(1000, 16, 4)") != std::string::npos) {
      fail(ErrorKind::user, "rows_are_few", hint(""), {}, "too many");
    }
    return measure(func);
  };
  const BestSizes best = search_sizes(doubled_rows(), few_and_many, options);
  std::vector<Trial> failed;
  for (const Trial& trial : best.trials) {
    if (!trial.failure.empty()) failed.push_back(trial);
  }
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].failure, "run error");
  EXPECT_EQ(failed[0].detail.substr(0, 22), "with m=1000: too many");
  EXPECT_TRUE(search_sizes(doubled_rows(), few_and_many, options).trials.empty());
}

TEST(SizesTask, says_with_which_size_the_default_schedule_fails) {
  std::vector<std::string> measured;
  SearchOptions options = noting(measured);
  options.runner = [](const Ptr<PrimFunc>& func) -> std::vector<double> {
    const bool is_large = script(func).find("1000") != std::string::npos;
    if (is_large) fail(ErrorKind::user, "rows_are_few", hint(""), {}, "too many");
    return {1.0};
  };
  EXPECT_EQ(refusal([&] { search_sizes(doubled_rows(), few_and_many, options); }),
            "default_schedule_runs: tune: main: the default schedule fails with m=1000: run error: "
            "too many");
}

TEST(SizesTask, compiles_within_a_limit) {
  std::vector<std::string> measured;
  SearchOptions options = noting(measured);
  options.runner = {};
  options.trials = 4;
  const CandidateRunner runner(doubled_rows(), {{{{"m", 1}}}, {{{"m", 64}}}}, options);
  SearchOptions hurried = options;
  hurried.trial_seconds = 1e-9;
  const CandidateRunner late(doubled_rows(), {{{{"m", 1}}}, {{{"m", 64}}}}, hurried);
  const Ptr<PrimFunc>& func = runner.reference();
  const Measurer measurer = measurer_of(late, 1, 0);
  for (const std::size_t point : {0U, 1U}) {
    const Outcome outcome = measurer.measure({{.func = func, .program = "it"}}, point, 1).front();
    EXPECT_EQ(outcome.failure, compile_timeout);
    EXPECT_EQ(outcome.detail, "not compiled within 1e-09 s");
    EXPECT_EQ(measurer_of(runner, 1, 0)
                  .measure({{.func = func, .program = "it"}}, point, 1)
                  .front()
                  .failure,
              "");
  }
}

/// A task of two sizes whose candidates take what is said of each point.
SizesTask sizes_task_of(Measurer measurer) {
  Space space{.name = "columns"};
  space.steps = [](Schedule&) {};
  TaskParts parts{.measurer = std::move(measurer), .searches = {}};
  for (const std::int64_t rows : {1, 1000}) {
    SizedSearch& own = parts.searches.emplace_back();
    own.search = std::make_shared<Search>(doubled_rows(), space, 1, SearchParts{});
    own.next = candidates_by(Strategy::random);
    own.point = {.sizes = {{"m", rows}}, .weight = 0.5};
  }
  return {doubled_rows(), doubled_rows(), 4, std::move(parts)};
}

Measurer taking(double seconds) {
  return {
      .measure = [=](const std::vector<Candidate>& some, std::size_t,
                     double) { return std::vector<Outcome>(some.size(), {.samples = {seconds}}); },
      .measure_reference = [](std::size_t) { return Outcome{.samples = {2.0}}; },
      .duel = [=](const Candidate&,
                  std::size_t) { return Outcome{.samples = {seconds}, .others = {2.0}}; },
      .check = [](const Candidate&, std::size_t) { return Outcome(); }};
}

TEST(SizesTask, says_with_which_size_variants_are_wrong_and_why_there_are_none) {
  SizesTask idle = sizes_task_of(taking(1));
  EXPECT_EQ(refusal([&] { idle.best(); }),
            "a_candidate_works: tune: main: none of 0 candidates could be built and measured; "
            "there was no time for one");
  Measurer measurer = taking(1);
  measurer.check = [](const Candidate&, std::size_t point) -> Outcome {
    if (point == 0) return {};
    return {.failure = wrong_result, .detail = "argument 1"};
  };
  SizesTask wrong = sizes_task_of(measurer);
  EXPECT_EQ(wrong.step(10), 1U);
  EXPECT_EQ(refusal([&] { wrong.best(); }),
            "variants_are_right: tune: main: the function of 1 variants fails with m=1000: wrong "
            "result: argument 1");
  // As they were measured, they are not compared.
  const FoundSizes found = wrong.best(false);
  EXPECT_FALSE(found.is_checked);
  EXPECT_EQ(found.decision.rows.back().seconds, 1);
  EXPECT_EQ(found.decision.rows.back().default_seconds, 2);
}

}  // namespace
}  // namespace loopsmith::tune
