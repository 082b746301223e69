// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/fixes.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

/// `x`, `x and y`, `x, y and z`.
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

bool is_accepted(const Schedule& schedule, const std::vector<Ref>& args) {
  try {
    const auto result = carried_out(schedule.data(), args);
    return std::holds_alternative<loopsmith::Schedule>(result);
  } catch (const UserError&) {  // What it does is tried on a copy, with all that may refuse it.
    return false;
  }
}

/// The calls that compute the readers there, too; empty where that does not help.
std::vector<std::string> bring_readers(Schedule schedule, const std::vector<Ref>& args,
                                       const ReadOutside& found) {
  std::vector<std::string> calls;
  const Stage parent(schedule.shared(), found.at.stage);
  for (const StageId id : found.readers) {
    const StageData& reader = schedule.data().stages[id];
    if (reader.is_output) return {};
    Stage(schedule.shared(), id).compute_at(parent, found.at.axis);
    calls.push_back(fmt::format("s[{}].compute_at(s[{}], {})", label_of(schedule.data(), id),
                                label_of(schedule.data(), parent.id()), found.at.axis->var->name));
  }
  return is_accepted(schedule, args) ? calls : std::vector<std::string>();
}

}  // namespace

void refuse_attachment(const Schedule& schedule, const std::vector<Ref>& args,
                       const ReadOutside& found) {
  const ScheduleData& data = schedule.data();
  std::vector<std::string> fixes;
  if (const auto calls = bring_readers(schedule.copy(), args, found); !calls.empty()) {
    fixes.push_back(listed(calls));
  }
  const std::string name = label_of(data, found.stage);
  Schedule inlined = schedule.copy();
  Stage(inlined.shared(), found.stage).compute_inline();
  if (is_accepted(inlined, args)) fixes.push_back(fmt::format("s[{}].compute_inline()", name));
  Schedule at_root = schedule.copy();
  Stage(at_root.shared(), found.stage).compute_root();
  if (fixes.size() < 2 && is_accepted(at_root, args)) {
    fixes.push_back(fmt::format("s[{}].compute_root()", name));
  }
  std::string advice;
  for (const std::string& fix : fixes) advice += (advice.empty() ? "say " : "; or ") + fix;
  std::vector<std::string> readers;
  for (const StageId id : found.readers) readers.push_back(label_of(data, id));
  fail(ErrorKind::schedule, "readers_are_in_the_loop",
       hint(advice.empty() ? "compute it at root" : advice), {},
       "compute_at: {} is needed by {}, which {} not inside loop {} of {}",
       label_of(data, found.stage), listed(readers), readers.size() == 1 ? "is" : "are",
       found.at.axis->var->name, label_of(data, found.at.stage));
}

}  // namespace loopsmith::te
