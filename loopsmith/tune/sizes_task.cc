// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes_task.h"

#include <limits>
#include <utility>

#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/support/error.h"
#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/search/program_key.h"
#include "loopsmith/tune/sizes/variants.h"

namespace loopsmith::tune {

SizesTask::SizesTask(Ptr<PrimFunc> func, Ptr<PrimFunc> reference, std::size_t max_variants,
                     TaskParts parts)
    : Exploration(std::move(func), std::move(parts), std::numeric_limits<std::size_t>::max()),
      reference_(std::move(reference)),
      max_variants_(max_variants) {}

std::optional<SizeTimes> SizesTask::dueled(const Candidate& candidate,
                                           std::vector<std::vector<double>>& defaults) const {
  SizeTimes own, others;
  for (std::size_t i = 0; i < searches().size(); ++i) {
    const Outcome outcome = measurer().duel(candidate, i);
    if (!outcome.failure.empty()) return {};
    own.push_back(median(outcome.samples));
    others.push_back(median(outcome.others));
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] /= others[i];  // What the machine did meanwhile met both.
    defaults[i].push_back(others[i]);
  }
  return own;
}

SizesTask::Chosen SizesTask::measured_again(const Chosen& chosen) const {
  Chosen again{.default_times = chosen.default_times};
  std::vector<std::vector<double>> defaults(searches().size());
  for (const Candidate* candidate : chosen.candidates) {
    auto shares = dueled(*candidate, defaults);
    if (!shares) continue;
    again.candidates.push_back(candidate);
    again.times.push_back(*std::move(shares));
  }
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    if (!defaults[i].empty()) again.default_times[i] = median(defaults[i]);
    for (SizeTimes& shares : again.times) shares[i] *= again.default_times[i];
  }
  return again;
}

FoundSizes SizesTask::best(bool is_measured_again) const {
  require_found();
  std::vector<DrawnSizes> points;
  for (const SizedSearch& each : searches()) points.push_back(each.point);
  std::vector<SizeTimes> all;
  for (const Timed& each : found()) all.push_back(each.second);
  Chosen chosen{.default_times = default_times()};
  for (const std::size_t which : chosen_variants(points, default_times(), all, max_variants_)) {
    chosen.candidates.push_back(&found()[which].first);
    chosen.times.push_back(all[which]);
  }
  if (is_measured_again) chosen = measured_again(chosen);
  FoundSizes best{.schedules = {},
                  .decision = decided(points, chosen.default_times, chosen.times, least_times())};
  for (const Candidate* candidate : chosen.candidates) {
    Schedule schedule(func(), 1);
    candidate->trace.apply_to(schedule);
    best.schedules.push_back(std::move(schedule));
  }
  best.is_checked = is_measured_again && is_checked(best);
  return best;
}

bool SizesTask::is_checked(const FoundSizes& found) const {
  std::vector<Ptr<PrimFunc>> variants = {reference_};
  for (const Schedule& schedule : found.schedules) variants.push_back(recorded_func(schedule));
  Candidate whole;
  whole.func = with_size_tree(variants, found.decision.tree);
  whole.program = key_of(whole.func);
  for (std::size_t i = 0; i < searches().size(); ++i) {
    const Outcome checked = measurer().check(whole, i);
    if (checked.failure.empty()) continue;
    if (checked.failure == timeout || checked.failure == compile_timeout ||
        checked.failure == not_compared) {
      return false;
    }
    fail(ErrorKind::user, "variants_are_right",
         hint("compare what it gives with the default schedule and without: sums of many numbers "
              "of both signs differ by rounding; pass other arguments"),
         {}, "tune: {}: the function of {} variants fails with {}: {}", func()->name(),
         found.schedules.size(), sizes_text(searches()[i].point.sizes),
         failure_text(checked.failure, checked.detail));
  }
  return true;
}

}  // namespace loopsmith::tune
