// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/space.h"

#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {

Space either(Trace trace, Space other) {
  return [trace = std::move(trace), other = std::move(other)](Schedule& schedule) {
    if (happens(schedule, 1, 2)) {
      other(schedule);
    } else {
      trace.sample_again(schedule);
    }
  };
}

}  // namespace loopsmith::tune
