// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/candidate.h"

#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/tune/search/program_key.h"

namespace loopsmith::tune {

Candidate candidate_of(const Schedule& schedule) {
  const Ptr<PrimFunc> func = recorded_func(schedule);
  return {.trace = schedule.trace(),
          .func = with_attr(func, "tir.is_scheduled", Expr(1)),
          .program = key_of(func)};
}

}  // namespace loopsmith::tune
