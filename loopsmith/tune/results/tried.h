// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <string>

#include "loopsmith/schedule/trace.h"

namespace loopsmith::tune {

/// A candidate that was tried.
struct Tried {
  Trace trace;
  double predicted = 0;  ///< Seconds of a call by the model, about.
  double seconds = std::numeric_limits<double>::infinity();  ///< The median; infinity: it failed.
  std::string failure = {};  ///< What kind of failure it was; empty for none,
  std::string detail = {};   ///< and what was said.
  double elapsed = 0;        ///< Seconds since the search began.
};

}  // namespace loopsmith::tune
