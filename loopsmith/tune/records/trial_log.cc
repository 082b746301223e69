// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/trial_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/driver/release.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/support/user_error.h"
#include "loopsmith/tune/records/database.h"
#include "loopsmith/tune/search/program_key.h"

namespace loopsmith::tune {
namespace {

constexpr std::size_t max_taught = 500;  ///< So many trials a model learns at most, the latest.

/// What can be read of a trace; nothing where another version of the compiler wrote it, whose steps
/// this one does not know.
std::optional<Trace> trace_of(const LoggedTrial& trial) {
  try {
    return Trace::from_json(trial.trace, all_primitives());
  } catch (const UserError&) {
    return {};
  }
}

/// What a trace makes of a function; nothing where this version refuses a step.
std::optional<Candidate> replayed(const Ptr<PrimFunc>& func, const Trace& trace) {
  Schedule schedule(func, 1);
  try {
    trace.apply_to(schedule);
  } catch (const UserError&) {
    return {};
  }
  return candidate_of(schedule);
}

/// A trial that has a time, and its number among all of them.
struct Measured {
  double seconds;
  std::size_t number;
  Trace trace;
};

}  // namespace

std::string search_key(const Ptr<PrimFunc>& func, const std::string& target,
                       const std::string& space) {
  return fmt::format("{} {} {} {}", key_of(func), target, release(), space);
}

TrialLog::TrialLog(const Records& records, std::string search)
    : path_(records.path()), search_(std::move(search)) {}

void TrialLog::add(const LoggedTrial& trial) const {
  const Connection file(path_);
  Query row =
      file.prepare("INSERT INTO trials (search, program, trace, seconds) VALUES (?, ?, ?, ?)");
  row.bind(search_);
  row.bind(trial.program);
  row.bind(trial.trace);
  row.bind(trial.seconds);
  row.step();
}

std::vector<LoggedTrial> TrialLog::all() const {
  const Connection file(path_);
  Query rows =
      file.prepare("SELECT program, trace, seconds FROM trials WHERE search = ? ORDER BY id");
  rows.bind(search_);
  std::vector<LoggedTrial> found;
  while (rows.step()) {
    LoggedTrial& trial = found.emplace_back();
    trial.program = rows.text(0);
    trial.trace = rows.text(1);
    if (!rows.is_null(2)) trial.seconds = rows.number(2);
  }
  return found;
}

std::vector<Timed> resume(Search& search, const std::vector<LoggedTrial>& trials,
                          std::size_t count) {
  std::vector<Measured> measured;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    search.know(trials[i].program);
    const auto trace = trials[i].seconds ? trace_of(trials[i]) : std::nullopt;
    if (!trace) continue;
    search.remember(*trace, *trials[i].seconds);
    measured.push_back({*trials[i].seconds, i, *trace});
  }
  if (search.is_learning()) {
    for (const Measured& each : measured) {
      if (each.number + max_taught < trials.size()) continue;
      const auto candidate = replayed(search.func(), each.trace);
      if (candidate) search.teach(*candidate, each.seconds);
    }
  }
  std::ranges::stable_sort(measured, {}, &Measured::seconds);
  std::vector<Timed> quickest;
  for (std::size_t i = 0; i < measured.size() && quickest.size() < count; ++i) {
    auto candidate = replayed(search.func(), measured[i].trace);
    if (candidate) quickest.emplace_back(*std::move(candidate), measured[i].seconds);
  }
  return quickest;
}

}  // namespace loopsmith::tune
