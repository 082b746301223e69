// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/store_at.h"

namespace loopsmith {

Planned<StoreAtPlan> plan_store_at(const Schedule& schedule, const StoreAtArguments& arguments) {
  auto written = buffer_to_roll(schedule, arguments.block, arguments.write_buffer_index);
  if (auto* refusal = std::get_if<Refusal>(&written)) return std::move(*refusal);
  auto ring = plan_ring(schedule, arguments.block, arguments.loop, std::get<Ptr<Buffer>>(written));
  if (auto* refusal = std::get_if<Refusal>(&ring)) return std::move(*refusal);
  return StoreAtPlan{std::get<RollingBufferPlan>(std::move(ring))};
}

Nothing commit_store_at(Schedule& schedule, StoreAtPlan&& plan) {
  return commit_rolling_buffer(schedule, std::move(plan.ring));
}

}  // namespace loopsmith
