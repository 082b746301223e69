// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct EnterPostprocArguments {
  static constexpr std::tuple<> parameters{};
};

struct EnterPostprocPlan {};

Planned<EnterPostprocPlan> plan_enter_postproc(const Schedule& schedule,
                                               const EnterPostprocArguments& arguments);
Nothing commit_enter_postproc(Schedule& schedule, EnterPostprocPlan&& plan);

inline constexpr Primitive enter_postproc(PrimitiveDefinition{
    .name = "enter_postproc",
    .doc = "Marks where a trace ends that is to be searched; what follows only finishes it.",
    .required = 0,
    .keeps_accesses = true,
    .plan = plan_enter_postproc,
    .commit = commit_enter_postproc,
});

}  // namespace loopsmith
