// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/trial_log.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

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

/// What the trials of a program say, one with each size.
struct Joined {
  std::map<std::size_t, double> times;  ///< By the number of the size.
  bool has_failed = false;
  const LoggedTrial* last = nullptr;
};

/// Tells a search of trials.
void remember(Search& search, const std::vector<LoggedTrial>& trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto trace = trials[i].seconds ? trace_of(trials[i]) : std::nullopt;
    if (!trace) continue;
    search.remember(*trace, *trials[i].seconds);
    if (!search.is_learning() || i + max_taught < trials.size()) continue;
    const auto candidate = replayed(search.func(), *trace);
    if (candidate) search.teach(*candidate, *trials[i].seconds);
  }
}

}  // namespace

std::string search_key(const Ptr<PrimFunc>& func, const std::string& target,
                       const std::string& space, const Sizes& sizes) {
  std::string key = fmt::format("{} {} {} {}", key_of(func), target, release(), space);
  return sizes.empty() ? key : fmt::format("{} {}", std::move(key), sizes_text(sizes));
}

TrialLog::TrialLog(const Records& records, std::vector<std::string> searches)
    : path_(records.path()), searches_(std::move(searches)) {}

void TrialLog::add(const std::vector<LoggedTrial>& trials) const {
  const Connection file(path_);
  const std::vector<std::string> marks(trials.size(), "(?, ?, ?, ?)");
  // One statement, so that it is one transaction.
  Query rows = file.prepare(fmt::format(
      "INSERT INTO trials (search, program, trace, seconds) VALUES {}", fmt::join(marks, ", ")));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    rows.bind(searches_[i]);
    rows.bind(trials[i].program);
    rows.bind(trials[i].trace);
    rows.bind(trials[i].seconds);
  }
  rows.step();
}

std::vector<std::vector<LoggedTrial>> TrialLog::all() const {
  const Connection file(path_);
  std::vector<std::vector<LoggedTrial>> found;
  for (const std::string& search : searches_) {
    std::vector<LoggedTrial>& own = found.emplace_back();
    Query rows =
        file.prepare("SELECT program, trace, seconds FROM trials WHERE search = ? ORDER BY id");
    rows.bind(search);
    while (rows.step()) {
      LoggedTrial& trial = own.emplace_back();
      trial.program = rows.text(0);
      trial.trace = rows.text(1);
      if (!rows.is_null(2)) trial.seconds = rows.number(2);
    }
  }
  return found;
}

std::vector<Timed> resume(const std::vector<Search*>& searches,
                          const std::vector<std::vector<LoggedTrial>>& trials, std::size_t count) {
  std::map<std::string, Joined> joined;
  std::vector<std::string> order;  // The oldest first.
  for (std::size_t i = 0; i < searches.size(); ++i) {
    remember(*searches[i], trials[i]);
    for (const LoggedTrial& trial : trials[i]) {
      Joined& own = joined[trial.program];
      if (!own.last) order.push_back(trial.program);
      own.last = &trial;
      own.has_failed = own.has_failed || !trial.seconds;
      if (trial.seconds) own.times[i] = *trial.seconds;
    }
  }
  std::vector<std::pair<SizeTimes, const LoggedTrial*>> measured;
  for (const std::string& program : order) {
    const Joined& own = joined[program];
    const bool is_complete = own.times.size() == searches.size();
    if (!is_complete && !own.has_failed) continue;
    for (Search* search : searches) search->know(program);
    if (own.has_failed) continue;
    SizeTimes& times = measured.emplace_back(SizeTimes(), own.last).first;
    for (const auto& each : own.times) times.push_back(each.second);
  }
  std::ranges::stable_sort(measured, {}, [](const auto& each) {
    return std::accumulate(each.first.begin(), each.first.end(), 0.0);
  });
  std::vector<Timed> quickest;
  for (auto& [times, trial] : measured) {
    if (quickest.size() >= count) break;
    const auto trace = trace_of(*trial);
    auto candidate = trace ? replayed(searches.front()->func(), *trace) : std::nullopt;
    if (candidate) quickest.emplace_back(*std::move(candidate), std::move(times));
  }
  return quickest;
}

}  // namespace loopsmith::tune
