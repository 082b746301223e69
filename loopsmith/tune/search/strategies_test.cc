// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/strategies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "loopsmith/driver/build.h"
#include "loopsmith/ir/script_text.h"
#include "loopsmith/tune/spaces/own_space.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using testing::product;

/// The least of what a search has proposed, by its strategy.
double best_of(Strategy strategy, std::uint64_t seed) {
  const auto length = [](const Ptr<PrimFunc>& func) {
    return static_cast<double>(script(func).size());
  };
  Search search(product(), generated(), seed, {.model = {.predict = length}});
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    for (const Candidate& candidate : search.propose(8, candidates_by(strategy))) {
      least = std::min(least, candidate.predicted);
      search.learn(candidate, candidate.predicted);
    }
  }
  return least;
}

TEST(Strategies, that_a_model_leads_find_what_random_draws_do_not) {
  double annealed = 0, evolutionary = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    annealed += best_of(Strategy::annealed, seed);
    evolutionary += best_of(Strategy::evolutionary, seed);
    random += best_of(Strategy::random, seed);
  }
  EXPECT_LT(annealed, random);
  EXPECT_LT(evolutionary, random);
}

TEST(Strategies, propose_each_program_once_and_the_same_with_any_number_of_threads) {
  const Model model = model_of(cpu_model_of(Target("llvm -mcpu=native")));
  for (const Strategy strategy : {Strategy::evolutionary, Strategy::annealed, Strategy::random}) {
    Search concurrent(product(), generated(), 7, {.model = model, .threads = 3});
    Search alone(product(), generated(), 7, {.model = model, .threads = 1});
    std::set<std::string> programs;
    for (int round = 0; round < 3; ++round) {
      const auto batch = concurrent.propose(5, candidates_by(strategy)),
                 same = alone.propose(5, candidates_by(strategy));
      ASSERT_EQ(batch.size(), 5U);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        EXPECT_TRUE(programs.insert(batch[i].program).second);
        EXPECT_EQ(batch[i].program, same[i].program);
        concurrent.learn(batch[i], 1.0 + static_cast<double>(i));
        alone.learn(same[i], 1.0 + static_cast<double>(i));
      }
    }
  }
}

TEST(Strategies, work_without_a_model) {
  for (const Strategy strategy : {Strategy::evolutionary, Strategy::annealed, Strategy::random}) {
    Search search(product(), generated(), 2, {});
    const auto first = search.propose(Search::batch_size, candidates_by(strategy));
    ASSERT_EQ(first.size(), Search::batch_size);
    search.learn(first[0], 1.0);
    EXPECT_EQ(search.propose(Search::batch_size, candidates_by(strategy)).size(),
              Search::batch_size);
    EXPECT_TRUE(search.left().empty());
  }
}

TEST(Strategies, take_slower_candidates_less_often_when_it_is_cold) {
  EXPECT_EQ(chance_of(1.2, 1.0, 0.02), 1);
  EXPECT_EQ(chance_of(1.0, 1.0, 0.02), 1);
  EXPECT_NEAR(chance_of(1.0, 1.2, 0.5), std::exp(-std::log(1.2) / 0.5), 1e-12);
  EXPECT_LT(chance_of(1.0, 1.2, 0.02), 1e-3);
  EXPECT_EQ(chance_of(0.0, 1.2, 0.5), 0);
}

}  // namespace
}  // namespace loopsmith::tune
