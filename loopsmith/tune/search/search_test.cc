// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/tune/search/strategies.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/own_space.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using testing::product;

double length_of(const Ptr<PrimFunc>& func) {
  return static_cast<double>(script(func).size());
}

/// A search in the generated space, in so many threads.
Search search_of(Model model, std::uint64_t seed, int threads = 2) {
  return {product(), generated(), seed, {.model = std::move(model), .threads = threads}};
}

std::vector<std::string> programs_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> programs;
  for (const Candidate& each : candidates) programs.push_back(each.program);
  return programs;
}

TEST(Search, counts_what_is_no_schedule_by_what_was_said) {
  const Space refused{.steps = [](Schedule& schedule) { get_block(schedule, "D"); }};
  Search search(product(), refused, 1, {.model = {.predict = length_of}});
  EXPECT_TRUE(search.propose(5, evolutionary).empty());
  ASSERT_EQ(search.refused().size(), 1U);
  EXPECT_EQ(search.refused().begin()->first.find('\n'), std::string::npos);
}

TEST(Search, hands_on_what_is_no_refusal) {
  const Space wrong{.steps = [](Schedule&) { throw std::domain_error("a mistake"); },
                    .is_concurrent = true};
  Search search(product(), wrong, 1, {});
  EXPECT_THROW(search.propose(5, evolutionary), std::domain_error);
}

TEST(Search, begins_with_what_the_space_starts_with) {
  Schedule by_hand(product(), 1);
  generated_space(by_hand);
  Space space = generated();
  space.starts = {decisions_of(by_hand.trace())};
  const std::string first = candidate_of(by_hand).program;
  Search search(product(), space, 7, {.model = {.predict = length_of}});
  EXPECT_EQ(programs_of(search.propose(5, evolutionary)), std::vector{first});
  EXPECT_EQ(programs_of(search.started()), std::vector{first});
  // Known from an earlier search, it is not proposed, and is what the space starts with all the
  // same.
  Search later(product(), space, 7, {.model = {.predict = length_of}});
  later.know(first);
  later.remember(by_hand.trace(), 1.0);
  for (const std::string& program : programs_of(later.propose(5, evolutionary))) {
    EXPECT_NE(program, first);
  }
  EXPECT_EQ(programs_of(later.started()), std::vector{first});
  EXPECT_EQ(later.quickest().size(), 1U);
}

TEST(Search, leaves_for_the_next_batch_what_the_model_likes) {
  Search search = search_of({.predict = length_of}, 3);
  const std::vector<Candidate> first = search.propose(Search::batch_size, evolutionary);
  const std::vector<std::string> left = programs_of(search.left());
  EXPECT_EQ(left.size(), Search::pool_size);
  for (const std::string& program : programs_of(first)) {
    EXPECT_EQ(std::ranges::count(left, program), 0);
  }
  std::size_t taken = 0;
  for (int round = 0; round < 4; ++round) {
    for (const auto& program : programs_of(search.propose(Search::batch_size, evolutionary))) {
      taken += static_cast<std::size_t>(std::ranges::count(left, program));
    }
  }
  EXPECT_GT(taken, 0U);
}

TEST(Search, leaves_nothing_where_the_model_learns) {
  std::vector<double> learned;
  const auto learn = [&](const Ptr<PrimFunc>&, double seconds) { learned.push_back(seconds); };
  Search search = search_of({.predict = length_of, .learn = learn}, 3);
  const std::vector<Candidate> batch = search.propose(2, evolutionary);
  search.learn(batch[0], 0.5);
  EXPECT_TRUE(search.left().empty());
  EXPECT_EQ(learned, std::vector{0.5});
}

TEST(Search, leaves_out_what_another_search_proposed) {
  Search search = search_of({.predict = length_of}, 3), same = search_of({.predict = length_of}, 3);
  const std::vector<Candidate> batch = search.propose(3, evolutionary);
  same.know(batch[1].program);
  const auto programs = programs_of(same.propose(Search::batch_size, evolutionary));
  EXPECT_EQ(std::ranges::count(programs, batch[0].program), 1);
  EXPECT_EQ(std::ranges::count(programs, batch[1].program), 0);
}

TEST(Search, proposes_no_more_than_one_batch_at_once) {
  Search search = search_of({.predict = length_of}, 3);
  EXPECT_EQ(search.propose(7, evolutionary).size(), 7U);
  EXPECT_EQ(search.propose(7, evolutionary).size(), 3U);
}

TEST(Search, takes_some_that_are_near_and_one_that_is_not_much_slower) {
  Search search = search_of({.predict = [](const Ptr<PrimFunc>&) { return 1.0; }}, 5);
  std::vector<Candidate> pool = search.bred({}, {}, 30);
  ASSERT_EQ(pool.size(), 30U);
  const std::vector<Candidate> near(pool.end() - 5, pool.end());
  for (std::size_t i = 12; i < pool.size(); ++i) pool[i].predicted = 31;  // Not worth a try.
  const auto found = programs_of(search.chosen(pool, near));
  ASSERT_EQ(found.size(), Search::batch_size);
  const auto all = programs_of(pool);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i], near[i].program);
  for (std::size_t i = 3; i < 9; ++i) EXPECT_EQ(found[i], all[i - 3]);
  EXPECT_LT(std::ranges::find(all, found[9]) - all.begin(), 12);
}

TEST(Search, asks_between_chunks_whether_to_go_on) {
  int pauses = 0;
  SearchParts parts{.model = {.predict = length_of}};
  parts.on_pause = [&] {
    if (++pauses == 3) throw std::domain_error("enough");
  };
  Search search(product(), generated(), 3, std::move(parts));
  EXPECT_THROW(search.propose(3, evolutionary), std::domain_error);
  EXPECT_EQ(search.propose(3, evolutionary).size(), 3U);
}

}  // namespace
}  // namespace loopsmith::tune
