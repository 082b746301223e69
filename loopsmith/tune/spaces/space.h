// SPDX-License-Identifier: Apache-2.0
// Spaces: the schedules among which a tuner searches.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/spaces/decisions.h"
#include "loopsmith/tune/spaces/numerics.h"

namespace loopsmith::tune {

/// Takes steps on a schedule, some of which sample. Throws a ScheduleError where it drew what is no
/// schedule.
using Steps = std::function<void(Schedule&)>;

/// The schedules that some steps make of a function, by what they sample.
struct Space {
  Steps steps;
  /// What tells it from others, where trials are kept: searches in spaces of one name go on with
  /// each other's. Empty: nothing does.
  std::string name = {};
  bool is_concurrent = false;  ///< Threads may draw concurrently.
  /// What the first samples decide of candidates that are tried before others.
  std::vector<Decisions> starts = {};
};

/// The schedule of a seed, whose first samples decide as told, as far as they may. One of another
/// kind than its decision, or that may not decide so, is drawn; so are the others.
Schedule drawn(const Ptr<PrimFunc>& func, const Space& space, std::int64_t seed,
               Decisions decisions = {});

/// The steps of a trace, whose samples decide anew, and then those of a space, if it has steps.
Space after(Trace trace, Space space);
/// A space of either of two, between which its first sample chooses. It starts with the trace as it
/// is; one that leaves nothing to decide is one point, and drawn seldom.
Space either(Trace trace, Space other);
/// A space whose steps keep results to the bit, as a lock asks for.
Space locked(Space space, Numerics numerics);

}  // namespace loopsmith::tune
