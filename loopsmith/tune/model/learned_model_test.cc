// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/learned_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/support/user_error.h"
#include "loopsmith/tune/model/boosted_trees.h"
#include "loopsmith/tune/model/rank_correlation.h"
#include "loopsmith/tune/spaces/own_space.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

TEST(BoostedTrees, say_what_the_labels_say) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(0, 1);
  std::vector<std::vector<double>> rows;
  std::vector<double> labels;
  const auto label = [](const std::vector<double>& row) {
    return (row[0] > 0.5 ? 2 : 0) + (row[1] > 0.3 && row[0] < 0.2 ? 1 : 0);
  };
  for (int i = 0; i < 500; ++i) {
    rows.push_back({any(random), any(random), any(random)});
    labels.push_back(label(rows.back()));
  }
  const BoostedTrees trees(rows, labels);
  double error = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<double> row = {any(random), any(random), any(random)};
    error += std::abs(trees.predict(row) - label(row)) / 200;
  }
  EXPECT_LT(error, 0.1);
  EXPECT_EQ(BoostedTrees(rows, labels).predict(rows[0]), trees.predict(rows[0]));
}

TEST(BoostedTrees, need_few_rows) {
  EXPECT_EQ(BoostedTrees().predict({1}), 0);
  EXPECT_EQ(BoostedTrees({}, {}).predict({1}), 0);
  EXPECT_EQ(BoostedTrees({{1}, {2}}, {3, 5}).predict({1}), 4);
}

TEST(RankCorrelation, sees_the_order_alone) {
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {10, 20, 1000}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 1, 2}, {1, 1, 9}), 1, 1e-12);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {3, 2, 1}), 0);
  EXPECT_EQ(rank_correlation({}, {}), 0);
}

/// The time is the estimate, four times that where loops are unrolled.
TEST(LearnedModel, learns_what_the_model_of_the_processor_does_not_know) {
  const Target target("llvm -mcpu=znver4");
  const LearnedModel plain(target);
  LearnedModel model(target);
  const Space space = generated();
  std::vector<double> measured;
  std::vector<Ptr<PrimFunc>> seen;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> seed(1, Samples::modulus - 1);
  while (seen.size() < 2 * LearnedModel::min_samples) {
    try {
      const Ptr<PrimFunc> func = drawn(testing::product(), space, seed(random)).func();
      const double factor = script(func).find("T.unroll") == std::string::npos ? 1 : 4;
      measured.push_back(factor * plain.predict(func));
      seen.push_back(func);
    } catch (const UserError&) {
      continue;
    }
    model.learn(seen.back(), measured.back());
  }
  std::vector<double> learned, before;
  for (const Ptr<PrimFunc>& func : seen) {
    learned.push_back(model.predict(func));
    before.push_back(plain.predict(func));
  }
  EXPECT_GT(rank_correlation(learned, measured), 0.9);
  EXPECT_GT(rank_correlation(learned, measured), rank_correlation(before, measured));
  EXPECT_EQ(model.correlations().size(), 4U);  // After 48, 60, 75 and 93 measurements.
}

}  // namespace
}  // namespace loopsmith::tune
