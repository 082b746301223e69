// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/space.h"

#include <fmt/ranges.h>

#include <utility>

#include "loopsmith/support/error.h"
#include "loopsmith/tune/spaces/choices.h"
#include "loopsmith/tune/spaces/fixed_order.h"

namespace loopsmith::tune {
namespace {

/// The name of a space with something before or after it, if it has one.
template <class... Args>
std::string named(const std::string& name, fmt::format_string<Args...> format, Args&&... args) {
  return name.empty() ? name : fmt::format(format, std::forward<Args>(args)...);
}

std::string line_of(const Trace& trace) {
  return fmt::format("{}", fmt::join(trace.as_python(), "; "));
}

/// Decisions of a trace before others.
Decisions joined(Decisions first, const Decisions& others) {
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

}  // namespace

Schedule drawn(const Ptr<PrimFunc>& func, const Space& space, std::int64_t seed,
               Decisions decisions) {
  Schedule schedule(func, seed);
  schedule.samples().tell(std::move(decisions));
  space.steps(schedule);
  return schedule;
}

Space after(Trace trace, Space space) {
  if (!space.steps) {
    std::string name = line_of(trace);
    const auto steps = [trace = std::move(trace)](Schedule& sch) { trace.sample_again(sch); };
    return {.steps = steps, .name = std::move(name), .is_concurrent = true};
  }
  space.name = named(space.name, "{}, then {}", line_of(trace), space.name);
  for (Decisions& start : space.starts) start = joined(decisions_of(trace), start);
  space.steps = [trace = std::move(trace), steps = std::move(space.steps)](Schedule& schedule) {
    trace.sample_again(schedule);
    steps(schedule);
  };
  return space;
}

Space either(Trace trace, Space other) {
  const Decisions decided = decisions_of(trace);
  const std::int64_t of = decided.empty() ? 16 : 2;
  Space made{.name = named(other.name, "{}, or {}", other.name, line_of(trace)),
             .is_concurrent = other.is_concurrent,
             .starts = {joined({{"sample_categorical", Argument(std::int64_t{0})}}, decided)}};
  made.steps = [trace = std::move(trace), steps = std::move(other.steps), of](Schedule& schedule) {
    if (happens(schedule, of - 1, of)) {
      steps(schedule);
    } else {
      trace.sample_again(schedule);
    }
  };
  return made;
}

Space locked(Space space, Numerics numerics) {
  if (numerics == Numerics::free) return space;
  const bool has_order = numerics == Numerics::reproducible;
  space.name = named(space.name, "{} {}", has_order ? "reproducible" : "strict", space.name);
  space.steps = [steps = std::move(space.steps), has_order](Schedule& schedule) {
    if (has_order) fix_order(schedule);
    schedule.allow_reassociation(false);
    steps(schedule);
  };
  return space;
}

}  // namespace loopsmith::tune
