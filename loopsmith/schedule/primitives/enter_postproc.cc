// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/enter_postproc.h"

namespace loopsmith {

Planned<EnterPostprocPlan> plan_enter_postproc(const Schedule&, const EnterPostprocArguments&) {
  return EnterPostprocPlan{};
}

Nothing commit_enter_postproc(Schedule&, EnterPostprocPlan&&) {
  return {};
}

}  // namespace loopsmith
