// SPDX-License-Identifier: Apache-2.0
// What a search proposes.
#pragma once
#include <string>

#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// A schedule that may be tried.
struct Candidate {
  Trace trace;
  Ptr<PrimFunc> func;    ///< As it is scheduled; it says that it is.
  std::string program;   ///< Its `key_of`: the same for candidates that are one program.
  double predicted = 0;  ///< Seconds of a call, about; 0 where nothing predicts them.
};

Candidate candidate_of(const Schedule& schedule);

}  // namespace loopsmith::tune
