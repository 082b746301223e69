// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/best.h"

#include <algorithm>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/sizes/variants.h"

namespace loopsmith::tune {
namespace {

/// How many times as long the default schedule took, in each pair.
std::vector<double> ratios_of(const std::vector<double>& by_default,
                              const std::vector<double>& own) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(own.size(), by_default.size()); ++i) {
    ratios.push_back(by_default[i] / own[i]);
  }
  std::ranges::sort(ratios);
  return ratios;
}

}  // namespace

bool Best::is_quicker() const {
  const std::vector<double> warm = ratios_of(default_samples, samples);
  const std::vector<double> cold = ratios_of(default_cold_samples, cold_samples);
  return !warm.empty() && warm[warm.size() / 10] > 1 && (cold.empty() || cold.back() >= 1);
}

Ptr<PrimFunc> BestSizes::function() const {
  std::vector<Ptr<PrimFunc>> variants = {reference};
  for (const tir::Schedule& schedule : schedules) variants.push_back(schedule.func());
  return with_size_tree(variants, tree);
}

Ptr<IRModule> BestModule::scheduled() const {
  IRModule made = *module;
  for (std::size_t i = 0; i < made.names.size(); ++i) {
    const auto found = functions.find(made.names[i]->name_hint);
    if (found == functions.end() || !found->second.is_quicker()) continue;
    made.functions[i] = with_attr(found->second.schedule.func(), "tir.is_scheduled", Expr(1));
  }
  return make(std::move(made));
}

}  // namespace loopsmith::tune
