// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct GetLoopsArguments {
  BlockRV block;
  std::optional<std::string> pattern = {};

  static constexpr std::tuple parameters{
      Parameter{"block", &GetLoopsArguments::block},
      Parameter{"pattern", &GetLoopsArguments::pattern,
                "Only loops of such names; * stands for any text, ? for any letter."}};
};

struct GetLoopsPlan {
  Handles<LoopRV> loops;
};

Planned<GetLoopsPlan> plan_get_loops(const Schedule& schedule, const GetLoopsArguments& arguments);
Handles<LoopRV> commit_get_loops(Schedule& schedule, GetLoopsPlan&& plan);

inline constexpr Primitive get_loops(PrimitiveDefinition{
    .name = "get_loops",
    .doc = "The loops around a block, outermost first, up to the block around it.",
    .pure = true,
    .plan = plan_get_loops,
    .commit = commit_get_loops,
});

}  // namespace loopsmith
