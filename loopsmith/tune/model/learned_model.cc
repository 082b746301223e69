// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/learned_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/model/boosted_trees.h"
#include "loopsmith/tune/model/features.h"
#include "loopsmith/tune/model/rank_correlation.h"

namespace loopsmith::tune {
namespace {

using Rows = std::vector<std::vector<double>>;

/// It is trained again when there are so many times as many measurements.
constexpr double growth = 1.25;

/// The logarithm of what the model of the processor says of a row.
double estimate_in(const std::vector<double>& row) {
  return row[0] * std::numbers::ln2;
}

}  // namespace

struct LearnedModel::State {
  CpuModel machine;
  LowerOptions options;
  Rows rows;
  std::vector<double> labels;
  std::size_t trained_at = 0;
  std::optional<BoostedTrees> trees;
  std::vector<std::pair<double, double>> correlations;

  void train();
};

LearnedModel::LearnedModel(const Target& target)
    : state_(std::make_shared<State>(State{.machine = cpu_model_of(target)})) {
  state_->options.vector_bits = state_->machine.vector_bytes * 8;
}

double LearnedModel::predict(const Ptr<PrimFunc>& func) const {
  const std::vector<double> row = features_of(func, state_->machine, state_->options);
  return std::exp(estimate_in(row) + (state_->trees ? state_->trees->predict(row) : 0));
}

void LearnedModel::learn(const Ptr<PrimFunc>& func, double seconds) {
  State& state = *state_;
  std::vector<double> row = features_of(func, state.machine, state.options);
  state.labels.push_back(std::log(seconds) - estimate_in(row));
  state.rows.push_back(std::move(row));
  const auto wanted = static_cast<std::size_t>(growth * static_cast<double>(state.trained_at));
  if (state.rows.size() >= std::max(min_samples, wanted)) state.train();
}

const std::vector<std::pair<double, double>>& LearnedModel::correlations() const {
  return state_->correlations;
}

void LearnedModel::State::train() {
  trained_at = rows.size();
  const auto seen = static_cast<std::ptrdiff_t>(rows.size() - rows.size() / 5);
  const BoostedTrees trial(Rows(rows.begin(), rows.begin() + seen),
                           {labels.begin(), labels.begin() + seen});
  std::vector<double> measured, estimated, corrected;
  for (auto i = static_cast<std::size_t>(seen); i < rows.size(); ++i) {
    estimated.push_back(estimate_in(rows[i]));
    measured.push_back(estimated.back() + labels[i]);
    corrected.push_back(estimated.back() + trial.predict(rows[i]));
  }
  const double own = rank_correlation(corrected, measured);
  const double without = rank_correlation(estimated, measured);
  correlations.emplace_back(own, without);
  trees.reset();
  if (own >= without) trees.emplace(rows, labels);
}

}  // namespace loopsmith::tune
