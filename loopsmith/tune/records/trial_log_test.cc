// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/trial_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loopsmith/driver/release.h"
#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/records/database.h"
#include "loopsmith/tune/search/strategies.h"
#include "loopsmith/tune/spaces/own_space.h"
#include "loopsmith/tune/testing/product.h"
#include "loopsmith/tune/testing/temporary_file.h"
#include "loopsmith/tune/tuner.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;
using testing::doubled_rows;
using testing::product;
using testing::TemporaryFile;

/// Options whose runner takes long programs for slow, and notes which it measured.
SearchOptions noting(const TemporaryFile& file, std::vector<std::string>& measured) {
  SearchOptions options{.trials = 10, .seed = 1, .records = file.path()};
  options.runner = [&](const Ptr<PrimFunc>& func) -> std::vector<double> {
    measured.push_back(script(func));
    return {static_cast<double>(measured.back().size())};
  };
  return options;
}

/// What was measured by a search, without the default schedule before it and the duels after.
std::set<std::string> trials_of(const Best& best) {
  std::set<std::string> traces;
  for (const Trial& trial : best.trials) traces.insert(trial.trace);
  return traces;
}

TEST(TrialLog, keeps_what_it_is_given) {
  const TemporaryFile file;
  const Records records(file.path());
  const TrialLog log(records, {"one", "two"}), other(records, {"three"});
  const LoggedTrial quick{"a", "[[], []]", 0.5}, slow{"a", "[[], []]", 2.0};
  log.add({quick, slow});
  log.add({{"b", "[[]]", std::nullopt}});  // It failed with the first size.
  other.add({{"c", "[[], []]", 1.0}});
  const std::vector<std::vector<LoggedTrial>> all = log.all();
  ASSERT_EQ(all.size(), 2U);
  ASSERT_EQ(all[0].size(), 2U);
  EXPECT_EQ(all[0][0].program, "a");
  EXPECT_EQ(all[0][0].seconds, 0.5);
  EXPECT_EQ(all[0][1].trace, "[[]]");
  EXPECT_EQ(all[0][1].seconds, std::nullopt);
  ASSERT_EQ(all[1].size(), 1U);
  EXPECT_EQ(all[1][0].seconds, 2.0);
  EXPECT_EQ(TrialLog(records, {"two"}).all()[0].size(), 1U);
  EXPECT_TRUE(records.all().empty());
}

TEST(TrialLog, writes_all_trials_of_a_candidate_or_none) {
  const TemporaryFile file;
  const Records records(file.path());
  const std::string path = file.path();
  Connection(path).run(
      "CREATE TRIGGER full BEFORE INSERT ON trials WHEN NEW.search = 'three' "
      "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  const TrialLog log(records, {"one", "two", "three"});
  const LoggedTrial trial{"a", "[[], []]", 0.5};
  EXPECT_EQ(refusal([&] { log.add({trial, trial, trial}); }),
            "records_can_be_used: records " + path + ": the disk is full");
  for (const auto& each : log.all()) EXPECT_TRUE(each.empty());
  log.add({trial, trial});
  for (const std::size_t i : {0, 1}) EXPECT_EQ(log.all()[i].size(), 1U);
}

TEST(TrialLog, has_one_key_for_a_program_of_any_name) {
  const Ptr<PrimFunc> other = with_attr(product(), "global_symbol", string_imm("other"));
  EXPECT_EQ(search_key(product(), "llvm", "generated"), search_key(other, "llvm", "generated"));
  EXPECT_NE(search_key(product(), "llvm", "generated"), search_key(other, "c", "generated"));
  // What another version measured is not gone on with.
  EXPECT_NE(search_key(product(), "llvm", "generated").find(" " + std::string(release()) + " "),
            std::string::npos);
}

TEST(Resume, knows_descends_from_and_learns_what_was_measured) {
  Search first(product(), generated(), 1, {});
  std::vector<LoggedTrial> trials;
  std::set<std::string> known;
  for (const Candidate& each : first.propose(Search::batch_size, at_random)) {
    const auto seconds = static_cast<double>(trials.size() + 1);
    trials.push_back({each.program, each.trace.as_json(), seconds});
    known.insert(each.program);
  }
  std::ranges::reverse(trials);
  trials[3].seconds.reset();  // The one that took 7 seconds had failed.
  std::string& quickest = trials[9].trace;
  quickest.replace(quickest.find("GetBlock"), 8, "FindBlock");  // Of another version.
  std::vector<double> learned;
  const auto learn = [&](const Ptr<PrimFunc>&, double seconds) { learned.push_back(seconds); };
  Search search(product(), generated(), 1, {.model = {.learn = learn}});
  const std::vector<Timed> found = resume({&search}, {trials}, 3);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].second, SizeTimes{2});
  EXPECT_EQ(found[2].second, SizeTimes{4});
  EXPECT_EQ(found[0].first.program, trials[8].program);
  EXPECT_EQ(search.quickest().size(), 8U);
  EXPECT_EQ(learned, (std::vector<double>{10, 9, 8, 6, 5, 4, 3, 2}));
  for (const Candidate& each : search.propose(Search::batch_size, at_random)) {
    EXPECT_FALSE(known.contains(each.program));
  }
}

TEST(Resume, goes_on_with_the_trials_of_a_search) {
  const TemporaryFile file;
  std::vector<std::string> measured;
  const SearchOptions options = noting(file, measured);
  const Best first = search(product(), options);
  ASSERT_EQ(first.trials.size(), 10U);
  SearchOptions more = options;
  more.seed = 2;
  const Best second = search(with_attr(product(), "global_symbol", string_imm("same")), more);
  for (const std::string& trace : trials_of(second)) {
    EXPECT_FALSE(trials_of(first).contains(trace));
  }
  EXPECT_LE(second.seconds, first.seconds);
  // What an earlier search found is a result of this one, too.
  more.trials = 1;
  EXPECT_LE(search(product(), more).seconds, second.seconds);
  // Under a lock it is another space, whose trials are others.
  more.numerics = Numerics::strict;
  more.trials = 10;
  const std::size_t before = measured.size();
  EXPECT_EQ(search(product(), more).trials.size(), 10U);
  EXPECT_GT(measured.size(), before + 10);
}

TEST(Resume, keeps_trials_by_the_sizes_of_arguments) {
  const TemporaryFile file;
  std::vector<std::string> measured;
  SearchOptions options = noting(file, measured);
  options.space = [](tir::Schedule& sch) {
    sch.split(sch.get_loops("B")[1], {infer, sch.sample_categorical({2, 4, 8}, {0.4, 0.3, 0.3})});
  };
  options.space_name = "columns";
  const auto count_with = [&](std::int64_t rows) {
    options.arguments = random_arguments(*doubled_rows(), 1, {{"m", rows}});
    return search(doubled_rows(), options).trials.size();
  };
  EXPECT_EQ(count_with(64), 3U);
  EXPECT_EQ(count_with(128), 3U);
  EXPECT_EQ(count_with(64), 0U);
}

TEST(Resume, keeps_trials_of_a_space_of_ones_own_by_its_name) {
  const TemporaryFile file;
  std::vector<std::string> measured;
  SearchOptions options = noting(file, measured);
  options.space = [](tir::Schedule& sch) {
    sch.split(sch.get_loops("C")[0], {infer, sch.sample_categorical({2, 4, 8}, {0.4, 0.3, 0.3})});
  };
  EXPECT_EQ(search(product(), options).trials.size(), 3U);
  EXPECT_EQ(search(product(), options).trials.size(), 3U);  // It has no name.
  options.space_name = "rows";
  EXPECT_EQ(search(product(), options).trials.size(), 3U);
  const Best again = search(product(), options);
  EXPECT_EQ(again.trials.size(), 0U);  // All were measured; the best of them is beside the default.
  EXPECT_GT(again.seconds, 0);
  options.space_name = "columns";
  EXPECT_EQ(search(product(), options).trials.size(), 3U);
}

TEST(Resume, goes_on_after_trials_of_what_a_schedule_left_open) {
  const TemporaryFile file;
  std::vector<std::string> measured;
  const SearchOptions options = noting(file, measured);
  tir::Schedule sch(product(), 1);
  sch.split(sch.get_loops("C")[0], {infer, sch.sample_categorical({2, 4, 8}, {0.4, 0.3, 0.3})});
  EXPECT_EQ(search(sch, options).trials.size(), 3U);
  EXPECT_EQ(search(sch, options).trials.size(), 0U);
}

}  // namespace
}  // namespace loopsmith::tune
