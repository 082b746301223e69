// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/sample.h"

#include <gtest/gtest.h>

#include <set>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(sample, tiles_perfectly_and_keeps_what_it_chose_in_the_trace) {
  const auto func = matmul();
  Schedule sch(func, 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  std::set<std::int64_t> innermost;
  for (int i = 0; i < 50; ++i) {
    const auto tile = sample_perfect_tile(sch, loops[0], 3, 16);
    EXPECT_EQ(sch.get(tile[0]) * sch.get(tile[1]) * sch.get(tile[2]), 128);
    EXPECT_LE(sch.get(tile[2]), 16);
    innermost.insert(sch.get(tile[2]));
  }
  EXPECT_EQ(innermost, (std::set<std::int64_t>{1, 2, 4, 8, 16}));
  const auto [a, b] = sample_perfect_tile(sch, loops[1], 2).take<2>();
  split(sch, loops[1], {a, b});
  expect_replays(sch, func);
}

TEST(sample, mends_decisions_and_replays_others) {
  const auto func = matmul();
  Schedule sch(func, 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto tile = sample_perfect_tile(sch, loops[1], 3, 16, std::vector<std::int64_t>{1, 5, 8});
  EXPECT_EQ(sch.get(tile[0]), 1);
  EXPECT_EQ(sch.get(tile[1]), 12);
  EXPECT_EQ(sch.get(tile[2]), 8);
  split(sch, loops[1], {tile[0], tile[1], tile[2]});
  Schedule other(func);
  sch.trace()
      .with_decision(2, to_argument(std::vector<std::int64_t>{4, 6, 4}), false)
      .apply_to(other);
  EXPECT_NE(body_of(other).find("in T.grid(128, 4, 6, 4, 64)"), std::string::npos)
      << body_of(other);
}

TEST(sample, makes_the_inner_part_a_multiple) {
  Schedule sch(matmul(), 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  for (int i = 0; i < 20; ++i) {
    const auto tile = sample_partitioned_tile(sch, loops[1], 3, 1, 12);
    EXPECT_EQ(sch.get(tile[0]) * sch.get(tile[1]) * sch.get(tile[2]), 96);
    EXPECT_EQ(sch.get(tile[1]) * sch.get(tile[2]) % 12, 0);
  }
  EXPECT_EQ(sch.get(sample_partitioned_tile(sch, loops[1], 2, 1, 7)[0]), -1);
}

TEST(sample, draws_by_weight) {
  Schedule sch(matmul(), 7);
  int count = 0;
  for (int i = 0; i < 400; ++i) {
    count += sch.get(sample_categorical(sch, {10, 20}, {0.25, 0.75})) == 20;
  }
  EXPECT_GT(count, 260);
  EXPECT_LT(count, 340);
  EXPECT_EQ(sch.get(sample_categorical(sch, {10, 20}, {0.25, 0.75}, 0)), 10);
}

TEST(sample, refuses_what_is_no_choice) {
  Schedule sch(matmul(), 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { sample_categorical(sch, {1, 2}, {1.0}); }),
            "arguments_fit: sample_categorical: 2 candidates and 1 probabilities are "
            "given");
  EXPECT_EQ(error_of([&] { sample_categorical(sch, {1, 2}, {1.0, 1.0}, 2); }),
            "number_is_in_range: sample_categorical: decision is 2, not within 0 and 1");
  EXPECT_EQ(error_of([&] { sample_perfect_tile(sch, loops[0], 1); }),
            "arguments_fit: sample_perfect_tile: 1 factors of loop i cannot be chosen");
}

TEST(sample, decides_as_the_schedule_was_told) {
  Schedule sch(matmul(), 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const Argument::List factors{Argument(4), Argument(6), Argument(4)};
  sch.samples().tell({{"sample_categorical", Argument(2)},
                      {"sample_categorical", Argument(0)},
                      {"sample_perfect_tile", Argument(factors)},
                      {"sample_categorical", Argument(9)}});
  EXPECT_EQ(sch.get(sample_categorical(sch, {10, 20, 30}, {1, 1, 1})), 30);
  // Neither a decision of another kind is heeded, nor one that is not possible; those after it are.
  EXPECT_EQ(sch.get(sample_perfect_tile(sch, loops[0], 1, -1)[0]), 128);
  const auto tile = sample_perfect_tile(sch, loops[1], 3, 16, std::vector<std::int64_t>{96, 1, 1});
  EXPECT_EQ(sch.get(tile[0]) * 100 + sch.get(tile[1]) * 10 + sch.get(tile[2]), 464);
  EXPECT_EQ(sch.get(sample_categorical(sch, {10, 20}, {1, 0})), 10);
  EXPECT_EQ(sch.get(sample_categorical(sch, {10, 20}, {1, 1}, 1)), 20);  // All are decided.
}

TEST(sample, stays_as_it_was_when_a_later_step_is_undone) {
  Schedule sch(matmul(), 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  sample_categorical(sch, {10, 20, 30}, {1, 1, 1}, 2);
  split(sch, loops[0], {infer, 4});
  sch.samples().tell({{"sample_categorical", Argument(0)}});
  sch.undo();
  EXPECT_NE(sch.trace().text().find("decision=2"), std::string::npos) << sch.trace().text();
  // What it was told is for the next sample.
  EXPECT_EQ(sch.get(sample_categorical(sch, {10, 20, 30}, {1, 1, 1})), 10);
}

TEST(sample, decides_anew_when_a_trace_is_sampled_again) {
  const auto func = matmul();
  Schedule sch(func, 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto tile = sample_perfect_tile(sch, loops[1], 3, 16, std::vector<std::int64_t>{96, 1, 1});
  split(sch, loops[1], {tile[0], tile[1], tile[2]});
  std::set<std::string> programs;
  for (int seed = 1; seed <= 10; ++seed) {
    Schedule other(func, seed);
    sch.trace().sample_again(other);
    programs.insert(body_of(other));
  }
  EXPECT_GT(programs.size(), 3U);
  Schedule told(func, 7);
  told.samples().tell(
      {{"sample_perfect_tile", Argument(Argument::List{Argument(4), Argument(6), Argument(4)})}});
  sch.trace().sample_again(told);
  EXPECT_NE(body_of(told).find("in T.grid(128, 4, 6, 4, 64)"), std::string::npos) << body_of(told);
}

}  // namespace
}  // namespace loopsmith
