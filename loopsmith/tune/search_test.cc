// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using testing::product;

double length_of(const Ptr<PrimFunc>& func) {
  return static_cast<double>(script(func).size());
}

/// The least of what a search has proposed, by its strategy.
double best_of(Strategy strategy, std::uint64_t seed) {
  Search search(product(), generated_space, seed, true, {.model = length_of, .strategy = strategy});
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    for (const Candidate& candidate : search.next_batch(8)) {
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
  for (const Strategy strategy : {Strategy::evolutionary, Strategy::annealed, Strategy::random}) {
    const Model model = model_of(cpu_model_of(Target("llvm -mcpu=native")));
    Search concurrent(product(), generated_space, 7, true, {.model = model, .strategy = strategy});
    Search alone(product(), generated_space, 7, false, {.model = model, .strategy = strategy});
    std::set<std::string> programs;
    for (int round = 0; round < 2; ++round) {
      const auto batch = concurrent.next_batch(5), same = alone.next_batch(5);
      ASSERT_EQ(batch.size(), 5U);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        EXPECT_TRUE(programs.insert(batch[i].hash).second);
        EXPECT_EQ(batch[i].hash, same[i].hash);
        concurrent.learn(batch[i], 1.0 + static_cast<double>(i));
        alone.learn(same[i], 1.0 + static_cast<double>(i));
      }
    }
  }
}

TEST(Search, counts_what_is_no_schedule_by_what_was_said) {
  const Space refused = [](Schedule& schedule) { get_block(schedule, "D"); };
  Search search(product(), refused, 1, true, {.model = length_of});
  EXPECT_TRUE(search.next_batch(5).empty());
  EXPECT_EQ(search.refused().size(), 1U);
}

}  // namespace
}  // namespace loopsmith::tune
