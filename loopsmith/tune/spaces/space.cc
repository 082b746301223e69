// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/space.h"

#include "loopsmith/tune/decisions.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {

Space either(Trace trace, Space other) {
  const std::int64_t of = decisions_of(trace).empty() ? 16 : 2;
  return [trace = std::move(trace), other = std::move(other), of](Schedule& schedule) {
    if (happens(schedule, of - 1, of)) {
      other(schedule);
    } else {
      trace.sample_again(schedule);
    }
  };
}

}  // namespace loopsmith::tune
